"""One take on the player's timeline: where its frames are on the audio clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onetake.browser.scope import Release
from onetake.browser.take import Take
from onetake.cues import Token


@dataclass(slots=True)
class Run:
    """Frames of a take that sound without a gap: from its frame `first` on, at frame `at` of the clock."""

    at: int
    first: int
    frames: int


@dataclass(slots=True)
class Source:
    """A node that plays one block, up to frame `end` of the clock."""

    node_js: Any
    end: int
    release: Release


def _nothing() -> None:
    pass


@dataclass(slots=True, eq=False)
class Performance:
    """A take, the gain it goes through, and the frames that have a place on the clock."""

    token: Token
    take: Take
    cushion_s: float
    gain_js: Any = None
    release_gain: Release = _nothing
    sources: list[Source] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    next_block: int = 0
    #: The first sample has been reported to sound.
    started: bool = False
    #: What comes next goes on amid a sound.
    broken_off: bool = False

    @property
    def scheduled(self) -> bool:
        """Every frame has its place on the clock."""
        return self.take.complete and self.next_block == len(self.take.blocks_js)

    @property
    def end(self) -> int:
        """The frame of the clock after the last one that has a place; 0 before the first."""
        return self.runs[-1].at + self.runs[-1].frames if self.runs else 0

    def extend(self, at: int, frames: int) -> None:
        """The next `frames` of the take sound from frame `at` of the clock on."""
        if self.runs and self.end == at:
            self.runs[-1].frames += frames
        else:
            first = self.runs[-1].first + self.runs[-1].frames if self.runs else 0
            self.runs.append(Run(at, first, frames))

    def played(self, clock: float) -> float:
        """Frames of the take that have sounded at that frame of the clock; the gaps of underruns do not count."""
        for run in reversed(self.runs):
            if clock >= run.at:
                return run.first + min(clock - run.at, run.frames)
        return 0.0

    def break_off(self, clock: int) -> Callable[[], None]:
        """Take from the frames that sound after that frame of the clock their places again.

        Returns what frees the nodes in use so far.
        """
        if self.runs and clock < self.end:
            self.runs = [run for run in self.runs if run.at < clock]
            if self.runs:
                self.runs[-1].frames = min(self.runs[-1].frames, clock - self.runs[-1].at)
            played = self.runs[-1].first + self.runs[-1].frames if self.runs else 0
            self.next_block = self.take.block_at(played)
            self.broken_off = played > 0
        sources, self.sources = self.sources, []
        release_gain = self.release_gain

        def release() -> None:
            release_gain()
            for source in sources:
                source.release()

        return release

    def free_sounded(self, clock: float) -> None:
        """Free the nodes that have nothing left to do."""
        sounded = [source for source in self.sources if source.end <= clock]
        if sounded:
            self.sources = [source for source in self.sources if source.end > clock]
            for source in sounded:
                source.release()

    def release(self) -> None:
        """Free every node."""
        self.release_gain()
        for source in self.sources:
            source.release()
        self.sources.clear()
