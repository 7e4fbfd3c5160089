"""The takes of a reply that have ended, kept for a replay, and when the oldest of them are let go.

    shelf = Shelf()
    shelf.put(take)             # its unit has ended
    shelf.take_down(take)       # its unit sounds again, or is forgotten
"""

from __future__ import annotations

from onetake.browser.take import Take
from onetake.cues import Token
from onetake.errors import UsageError

KEPT_S = 600.0
"""So much audio of ended units is kept: 58 MB at 24 kHz. Whoever goes back goes back by a unit or two."""


class SoundLetGo(UsageError):
    """The unit has sounded, but so long ago that its audio is no longer kept."""


class Shelf:
    """Holds at most `KEPT_S` of audio, but always the take that came last."""

    def __init__(self) -> None:
        self._takes: dict[Token, Take] = {}  # the one that ended last at the end
        self._kept_s = 0.0

    def put(self, take: Take) -> None:
        """The unit of that take has ended."""
        self.take_down(take)
        self._takes[take.token] = take
        self._kept_s += take.received_s
        while self._kept_s > KEPT_S and len(self._takes) > 1:
            oldest = next(iter(self._takes.values()))
            self.take_down(oldest)
            oldest.release()

    def take_down(self, take: Take) -> None:
        """It is somebody else's to keep, or nobody's. Does nothing if it is not here."""
        if self._takes.pop(take.token, None) is not None:
            self._kept_s = self._kept_s - take.received_s if self._takes else 0.0
