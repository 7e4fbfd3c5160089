"""What goes into the conductor and what comes out: plain, frozen values.

Events say what happened, effects say what has to be done. `onetake.conductor` turns the first into the
second. Anyone may import this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from onetake.spoken import Spoken
from onetake.units import Unit


class Token(NamedTuple):
    """Names one attempt at one unit. What comes back under a token that is no longer current is dropped."""

    generation: int
    unit: int
    attempt: int


# -- events: the reply -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnitClosed:
    """The cutter closed a unit; `spoken` is its text for the engine."""

    unit: Unit
    spoken: Spoken


@dataclass(frozen=True, slots=True)
class ReplyFinal:
    """No further unit will come."""


@dataclass(frozen=True, slots=True)
class ReplyFailed:
    """The reply ended in an error or was lost. Units closed before are spoken to their end.

    Passed over after `ReplyFinal` (nothing is missing) and after `Stop` (nobody waits for it).
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ReplyResumed:
    """The reply that had failed is sought again: more of it may come."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The reply starts over from code point `at`; `generation` is the new one."""

    generation: int
    at: int = 0


# -- events: synthesis (the token is the one of `Synthesise`) -------------------------------------


@dataclass(frozen=True, slots=True)
class SynthesisStarted:
    """The engine has answered and audio may follow."""

    token: Token


@dataclass(frozen=True, slots=True)
class AudioReceived:
    """`received_s` seconds of audio are here so far, all blocks together."""

    token: Token
    received_s: float


@dataclass(frozen=True, slots=True)
class AlignmentReceived:
    """When characters of the text sent sound, in seconds of the take; adds to what came before."""

    token: Token
    chars: Sequence[str]
    starts: Sequence[float]
    ends: Sequence[float]


@dataclass(frozen=True, slots=True)
class SynthesisDone:
    """The take has ended at its end marker; it is `received_s` seconds long, 0 for an empty take."""

    token: Token
    received_s: float


@dataclass(frozen=True, slots=True)
class SynthesisFailed:
    """The engine or the connection failed. Audio that is here already is still played."""

    token: Token
    code: str
    message: str


# -- events: playback (the token is the one of `Play`) ---------------------------------------------


@dataclass(frozen=True, slots=True)
class PlaybackStarted:
    """The first sample of the take sounds. A take without samples has no such report, nor the two below."""

    token: Token


@dataclass(frozen=True, slots=True)
class PlaybackPosition:
    """`played_s` seconds of the take have left the graph and reached the listener."""

    token: Token
    played_s: float


@dataclass(frozen=True, slots=True)
class PlaybackEnded:
    """The last sample of a take that is all here has sounded."""

    token: Token


# -- events: the listener and the audio device -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stop:
    """Barge-in: silent now, and nothing more of this generation."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Hold the sound; `Resume` goes on at the same sample."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on after `Pause`."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave the unit that sounds, or is next to sound, and go on with the one after it. Keeps a pause."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Sound `unit` again, at once and from its start, from the audio that is here.

    Then the unit that this interrupts sounds from its start, if it comes later in the reply, and the others
    follow. Ends a pause. A unit that was dropped before it was asked for is asked for now, once. A unit that
    has yet to sound keeps its place, and nothing changes.
    """

    unit: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """The browser holds audio back until a gesture."""


@dataclass(frozen=True, slots=True)
class Unblocked:
    """Audio may sound again."""


@dataclass(frozen=True, slots=True)
class Dispose:
    """The reply's voice ends for good."""


# -- effects --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Synthesise:
    """Ask the engine for one take of `text`, exactly as written."""

    token: Token
    text: str


@dataclass(frozen=True, slots=True)
class AbortSynthesis:
    """Close the connection of this synthesis."""

    token: Token


@dataclass(frozen=True, slots=True)
class Play:
    """Put the take asked for under `take` on the timeline, after what is on it, as performance `token`."""

    token: Token
    take: Token


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take one performance off the timeline; the others go on."""

    token: Token


@dataclass(frozen=True, slots=True)
class Silence:
    """Silence everything that sounds, at once, and clear the timeline."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Stop the audio clock, keeping its place."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """Let the audio clock run again."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Release the audio of a take: it will not be played again."""

    take: Token


@dataclass(frozen=True, slots=True)
class UnitChanged:
    """A unit's state changed, or its error became known. `code` and `message` say what failed."""

    generation: int
    unit: int
    state: str
    code: str | None
    message: str | None


Event = (
    UnitClosed
    | ReplyFinal
    | ReplyFailed
    | ReplyResumed
    | Reset
    | SynthesisStarted
    | AudioReceived
    | AlignmentReceived
    | SynthesisDone
    | SynthesisFailed
    | PlaybackStarted
    | PlaybackPosition
    | PlaybackEnded
    | Stop
    | Pause
    | Resume
    | Skip
    | Replay
    | Blocked
    | Unblocked
    | Dispose
)

Effect = Synthesise | AbortSynthesis | Play | Withdraw | Silence | Hold | Proceed | Forget | UnitChanged
