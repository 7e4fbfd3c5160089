"""One reply while it is spoken: its cutter, its conductor, its takes, and when what happened."""

from __future__ import annotations

from onetake.browser.inspection import Times
from onetake.browser.scope import Scope
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
        #: By unit.
        self.times: dict[int, Times] = {}
