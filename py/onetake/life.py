"""The life of one unit as the conductor sees it: its states, what can happen to it, and its entry.

Only `onetake.conductor` moves a unit from state to state; everyone may read an `Entry` to show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from onetake.cues import Token
from onetake.heard import Heard, Pace
from onetake.spoken import Spoken
from onetake.units import Unit


class UnitState(StrEnum):
    """Where a unit is in its life; the last three are ends."""

    QUEUED = "queued"
    SYNTHESISING = "synthesising"
    PLAYING = "playing"
    DONE = "done"
    FAILED = "failed"
    DROPPED = "dropped"


class Turn(StrEnum):
    """What can happen to a unit."""

    ASK = "ask"  # its one synthesis begins
    SOUND = "sound"  # its first sample sounds
    PLAY_OUT = "play_out"  # its last sample has sounded
    END_EMPTY = "end_empty"  # it has no sound: nothing for the engine to say, or an empty take
    FAIL = "fail"
    DROP = "drop"  # reset, stop, skip, dispose, or left for the replay of a later unit
    REQUEUE = "requeue"  # the listener went back: it will sound again from its start


#: The life of a unit. A turn that is not in its state's row is our own bug and raises.
TRANSITIONS: Mapping[UnitState, Mapping[Turn, UnitState]] = {
    UnitState.QUEUED: {
        Turn.ASK: UnitState.SYNTHESISING,
        Turn.SOUND: UnitState.PLAYING,  # a replay: its audio is here already
        Turn.END_EMPTY: UnitState.DONE,
        Turn.DROP: UnitState.DROPPED,
    },
    UnitState.SYNTHESISING: {
        Turn.SOUND: UnitState.PLAYING,
        Turn.END_EMPTY: UnitState.DONE,
        Turn.FAIL: UnitState.FAILED,
        Turn.DROP: UnitState.DROPPED,
    },
    UnitState.PLAYING: {
        Turn.PLAY_OUT: UnitState.DONE,
        Turn.FAIL: UnitState.FAILED,
        Turn.DROP: UnitState.DROPPED,
        Turn.REQUEUE: UnitState.QUEUED,
    },
    UnitState.DONE: {Turn.REQUEUE: UnitState.QUEUED},
    UnitState.FAILED: {Turn.REQUEUE: UnitState.QUEUED},
    UnitState.DROPPED: {Turn.REQUEUE: UnitState.QUEUED},
}

ENDS = frozenset({UnitState.DONE, UnitState.FAILED, UnitState.DROPPED})


class Synthesis(StrEnum):
    """Where a unit's one synthesis is. The last three are ends."""

    NONE = "none"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    ABORTED = "aborted"


class Entry:
    """One unit in the conductor's care. Read it for inspection; only the conductor writes it."""

    __slots__ = (
        "asked",
        "error",
        "heard",
        "heard_at",
        "played_s",
        "received_s",
        "spoken",
        "state",
        "synthesis",
        "token",
        "unit",
    )

    def __init__(self, unit: Unit, spoken: Spoken, pace: Pace) -> None:
        self.unit = unit
        self.spoken = spoken
        #: Names the performance that sounds or will sound; playback events must carry it.
        self.token = Token(unit.generation, unit.index, 1)
        #: The token its synthesis was asked under; synthesis events must carry it.
        self.asked: Token | None = None
        self.state = UnitState.QUEUED
        self.synthesis = Synthesis.NONE
        self.received_s = 0.0
        self.played_s = 0.0
        self.heard = Heard(spoken, pace)
        #: Code point of the reply up to which this unit was heard.
        self.heard_at = unit.start
        self.error: tuple[str, str] | None = None

    @property
    def ended(self) -> bool:
        return self.state in ENDS

    @property
    def all_received(self) -> bool:
        """No more audio of this unit will come."""
        return self.synthesis in (Synthesis.COMPLETE, Synthesis.FAILED, Synthesis.ABORTED)
