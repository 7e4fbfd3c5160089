"""What every speech engine offers: voices that say what they can do, and takes that stream.

    async with aclosing(engine.synthesise("Hello there.", "local", 1.0)) as take:
        async for piece in take:
            match piece:
                case Audio():     play(piece.samples, piece.rate)
                case Alignment(): captions(piece.chars, piece.starts)

One call of `synthesise` is one take: one request, one performance. An engine never splits a text into several
requests. May be imported by anything in `onetake.server`; imports nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Limit:
    """The longest text one take may have. Vendors count either code points or UTF-8 bytes."""

    value: int
    unit: Literal["characters", "bytes"]

    def measure(self, text: str) -> int:
        """Length of `text` in this limit's unit."""
        return len(text) if self.unit == "characters" else len(text.encode())


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice and what it can do, as `GET /voices` tells it.

    `languages` are BCP 47 tags. `sample_rate` is in hertz and the same for every take of the voice.
    `audio_tags`: the engine performs directions such as `[softly]`; if not, it would read them aloud and must
    not be sent any. `timing` is the finest alignment its takes carry. `concurrency` is how many takes its
    engine serves at once, over all voices and listeners. `speeds` are the slowest and the fastest it speaks,
    1 being its usual pace.
    """

    id: str
    name: str
    engine: str
    languages: tuple[str, ...]
    sample_rate: int
    audio_tags: bool
    timing: Literal["none", "word", "char"]
    limit: Limit
    concurrency: int
    speeds: tuple[float, float] = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Audio:
    """A stretch of sound: signed 16-bit little-endian samples, channels interleaved, whole frames only."""

    samples: bytes
    rate: int
    channels: int = 1

    @property
    def seconds(self) -> float:
        """How long it sounds."""
        return len(self.samples) / (2 * self.channels * self.rate)


@dataclass(frozen=True, slots=True)
class Alignment:
    """When characters of the text are spoken, in seconds from the start of the take; all three equally long.

    Pieces of one take follow one another: together their `chars` are the text from its start.
    """

    chars: Sequence[str]
    starts: Sequence[float]
    ends: Sequence[float]


Take = AsyncGenerator[Audio | Alignment, None]


class EngineError(Exception):
    """The engine failed on a take. `code` is stable and for programs, the message is one sentence for people.

    Codes: `engine_failed` (it broke), `engine_unreachable`, `engine_timeout` (it fell silent), `engine_busy`,
    `too_many_concurrent` (for its account), `key_refused`, `quota_exceeded`, `voice_not_found`,
    `text_too_long`, `request_refused` (for another reason), `bad_audio` (it sent no sound),
    `take_cut_short` (it broke off in the middle).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Engine(Protocol):
    """A speech engine. Closing a take (`aclose`) stops its work and must not delay the next take."""

    @property
    def voices(self) -> Sequence[Voice]:
        """The voices it has now, at least one, the preferred one first.

        Ids stay; what a voice can do is what is known by now, for one that lives elsewhere.
        """

    async def warm(self) -> None:
        """Do ahead of time what would make the first take late. Never fails: the first take will tell."""

    async def aclose(self) -> None:
        """Release what the engine holds. No take may be running."""

    def synthesise(self, text: str, voice: str, speed: float) -> Take:
        """One take of `text` by the voice whose id is `voice`, at `speed` times its usual pace, streamed.

        A text without anything to say is an empty take: no pieces, no error. Raises `EngineError`, at any
        point.
        """
