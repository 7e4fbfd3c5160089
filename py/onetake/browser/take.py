"""The audio of one unit as it arrives: blocks in order, kept as JS AudioBuffers, and whether more will come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onetake.browser.ffi import web
from onetake.cues import Token


class Take:
    """Blocks of one synthesis. The player reads them; `on_change` tells it that there is more, or the end.

    All of it is kept for a replay, 4 bytes a sample, 5.8 MB a minute at 24 kHz, until it is let go or the conductor
    forgets the take.
    """

    def __init__(self, token: Token, context_js: Any) -> None:
        self.token = token
        self._context_js = context_js
        #: AudioBuffers in the order they arrived, all at the context's rate.
        self.blocks_js: list[Any] = []
        self.rate = int(context_js.sampleRate)
        self.frames = 0
        #: No more blocks will come: the end marker was read, or the synthesis failed or was aborted.
        self.complete = False
        #: Its blocks are gone. What they were is still counted.
        self.let_go = False
        self.on_change: Callable[[], object] | None = None

    @property
    def received_s(self) -> float:
        """Seconds of audio that are here."""
        return self.frames / self.rate

    def append(self, block_js: Any) -> None:
        """Add the next block (an AudioBuffer)."""
        self.frames += int(block_js.length)
        self.blocks_js.append(block_js)
        self._changed()

    def join(self, first: int, last: int) -> None:
        """Make one block of those from `first` up to and without `last`."""
        if last - first > 1:
            self.blocks_js[first:last] = [web().joinedBuffer(self._context_js, *self.blocks_js[first:last])]

    def block_at(self, frame: int) -> int:
        """The block that begins with that frame of the take; one that holds it is divided there."""
        index = 0
        while index < len(self.blocks_js) and frame >= (length := int(self.blocks_js[index].length)):
            frame -= length
            index += 1
        if frame == 0:
            return index
        self.blocks_js[index : index + 1] = web().dividedBuffer(self._context_js, self.blocks_js[index], frame)
        return index + 1

    def end(self) -> None:
        """No more blocks will come."""
        self.complete = True
        self._changed()

    def release(self) -> None:
        """Let go of the audio of a take that is complete and does not sound."""
        self.blocks_js.clear()
        self.let_go = True

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()
