"""The audio of one unit as it arrives: blocks in order, kept as JS AudioBuffers, and whether more will come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onetake.cues import Token


class Take:
    """Blocks of one synthesis. The player reads them; `on_change` tells it that there is more, or the end."""

    def __init__(self, token: Token) -> None:
        self.token = token
        #: AudioBuffers in the order they arrived.
        self.blocks_js: list[Any] = []
        #: Frames per second of the blocks; 0 before the first.
        self.rate = 0
        self.frames = 0
        #: No more blocks will come: the end marker was read, or the synthesis failed or was aborted.
        self.complete = False
        self.on_change: Callable[[], object] | None = None

    @property
    def received_s(self) -> float:
        """Seconds of audio that are here."""
        return self.frames / self.rate if self.rate else 0.0

    def append(self, block_js: Any) -> None:
        """Add the next block (an AudioBuffer)."""
        self.rate = int(block_js.sampleRate)
        self.frames += int(block_js.length)
        self.blocks_js.append(block_js)
        self._changed()

    def end(self) -> None:
        """No more blocks will come."""
        self.complete = True
        self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()
