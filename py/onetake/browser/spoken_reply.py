"""One reply while it is spoken: its cutter, its conductor, its takes, and when what happened."""

from __future__ import annotations

from onetake.browser.devtools import Life
from onetake.browser.inspection import Times
from onetake.browser.scope import Scope
from onetake.browser.shelf import Shelf, SoundLetGo
from onetake.browser.take import Take
from onetake.conductor import Conductor
from onetake.cues import Token
from onetake.heard import Pace
from onetake.units import Cutter


class SpokenReply:
    """What `onetake.browser.voice` holds for each reply."""

    def __init__(self, concurrency: int, pace: Pace) -> None:
        self.cutter = Cutter()
        self.conductor = Conductor(concurrency, pace)
        #: By the token each take was asked for under.
        self.takes: dict[Token, Take] = {}
        self.requests: dict[Token, Scope] = {}
        self.shelf = Shelf()
        #: By unit.
        self.times: dict[int, Times] = {}
        #: By unit, for the developer tools.
        self.lives: dict[int, Life] = {}

    def forget_times(self) -> None:
        """Units that a reset has taken back have none any more."""
        kept = len(self.conductor.entries)
        self.times = {unit: times for unit, times in self.times.items() if unit < kept}

    def shelve(self, unit: int) -> None:
        """A unit's state has changed: its take is on the shelf while it has ended, and only then."""
        entry = self.conductor.entries[unit]
        if entry.asked is not None and (take := self.takes.get(entry.asked)) is not None:
            if entry.ended:
                self.shelf.put(take)
            else:
                self.shelf.take_down(take)

    def check_kept(self, unit: int) -> None:
        """Raises SoundLetGo if that unit's audio was here and is no longer kept."""
        if 0 <= unit < len(self.conductor.entries):
            asked = self.conductor.entries[unit].asked
            if asked is not None and (take := self.takes.get(asked)) is not None and take.let_go:
                raise SoundLetGo(f"the audio of unit {unit} is no longer kept: have the reply read anew to hear it")
