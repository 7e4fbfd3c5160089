"""The text of one turn as it is told: the rules that all protocols share, kept in one place.

    turn = Turn()
    turn.say("Let me look. "); turn.end_unit(); turn.say("Found it."); turn.finish()
    turn.take_events()        # [Delta("Let me look. "), UnitEnd(13), Delta("Found it."), Final()]

Used by the adapters of `onetake.streams`.
"""

from __future__ import annotations

import codecs
import io
from bisect import bisect_left, bisect_right
from typing import Literal, NamedTuple

from onetake.streams.blocks import InlineBlocks
from onetake.streams.events import Delta, Event, Failed, Final, Reset, UnitEnd

REPLY_LIMIT = 1_000_000
"""Characters that a turn may say, a day of speech. What says more does not end."""

OPEN_LIMIT = 1_000
"""Tool calls without an answer, and messages being written, that a turn may have at one time."""

_OPENING, _CLOSING = "<think>", "</think>"
_MESSAGE_LIMIT = 500  # characters of an error message that are handed on


class Malformed(ValueError):
    """A record of a known kind holds what the protocol does not allow there."""


class Mark(NamedTuple):
    """A place in the telling that `Turn.rewind` can go back to."""

    at: int
    speaks: bool
    joins: bool


class Turn:
    """Collects the events of one turn.

    A unit ends only where something was said since the last end; blank text goes with the next unit. Nothing
    counts after the end. A surrogate pair split over two pieces is one character, half a pair is U+FFFD. With
    `thoughts`, what local models write as `<think>…</think>` into their text is no part of it. The chat templates of
    some (DeepSeek R1, QwQ) have the opening in the prompt, so that the model writes only the closing: then what a
    message said before it is void, unless the message has opened a thought itself.

    A turn may be told again from its start (`restart`, `retell`): what is as it was gives no events.
    """

    def __init__(self, *, thoughts: bool = False) -> None:
        self.ended = False
        #: Whether the turn goes on in a further response, because the model wants something first.
        self.awaiting = False
        self._events: list[Event] = []
        self._strips_thoughts = thoughts
        # What was told: its text, its length, its unit ends.
        self._text = io.StringIO()
        self._length = 0
        self._ends: list[int] = []
        # The telling: behind the length only while the turn is told again.
        self._at = 0
        self._said = 0
        self._speaks = False  # since the last unit end
        self._joins = False  # the next text is of another message
        self._calls: set[str] = set()
        # Where a thought whose opening is not told would have begun; None if the message tells its openings.
        self._thought_from: Mark | None = Mark(0, False, False)
        self._clear()

    def _clear(self) -> None:
        """Drop what is held back."""
        # UTF-16, since JSON escapes characters beyond the BMP as two surrogates.
        self._surrogates = codecs.getincrementaldecoder("utf-16-le")("replace")
        self._blocks = InlineBlocks([_OPENING], _CLOSING, orphans=True) if self._strips_thoughts else None

    def take_events(self) -> list[Event]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    # -- what is said --------------------------------------------------------------------------

    def say(self, text: object) -> None:
        """More text of the message that is being told. Raises Malformed for anything but a string."""
        if not isinstance(text, str):
            raise Malformed(f"text is a string, not {type(text).__name__}")
        self._said += len(text)
        if self._said > REPLY_LIMIT:
            self.fail("reply_too_long", f"The reply has more than {REPLY_LIMIT} characters.")
        self._pass(self._surrogates.decode(text.encode("utf-16-le", "surrogatepass")))

    def new_message(self) -> None:
        """The text from here on is of another message: a blank line joins it to what it follows."""
        self._flush()
        self._joins = True
        self._begin_message()

    def end_unit(self) -> None:
        """Something else than text begins here, such as a tool call."""
        self._flush()
        self._joins = False
        if self._speaks and not self.ended:
            self._speaks = False
            place = bisect_left(self._ends, self._at)
            if self._ends[place : place + 1] != [self._at]:
                self._ends.insert(place, self._at)
                self._events.append(UnitEnd(self._at))
        self._begin_message()

    def call(self, id: object) -> None:
        """The tool call of that id begins; it is open until `answer`."""
        self.end_unit()
        self._calls.add(str(id))
        if len(self._calls) > OPEN_LIMIT:
            self.fail("too_many_calls", f"More than {OPEN_LIMIT} tool calls are open at one time.")

    def answer(self, id: object) -> None:
        """The tool call of that id has its result."""
        self._calls.discard(str(id))

    @property
    def unanswered(self) -> bool:
        """Whether a tool call is open."""
        return bool(self._calls)

    def proceed(self) -> None:
        """A further response begins. If the turn awaited it, all calls have their results, by another way."""
        if self.awaiting:
            self._calls.clear()
        self.awaiting = False

    def finish(self, outcome: Literal["complete", "truncated", "refusal"] = "complete") -> None:
        """The turn is complete."""
        self._flush()
        self._end(Final(outcome))

    def fail(self, code: object, message: object, *, retryable: bool = False) -> None:
        """The turn broke off, for a reason the other side may have given; its trailing unit stays open."""
        self._flush()
        said = f"{message or 'The other side gave no reason.'}"
        self._end(Failed(whole(f"{code}"[:_MESSAGE_LIMIT]), whole(said[:_MESSAGE_LIMIT]), retryable))

    def _end(self, event: Event) -> None:
        if not self.ended:
            self._events.append(event)
        self.ended, self.awaiting = True, False

    # -- what is told again --------------------------------------------------------------------

    def mark(self) -> Mark:
        """This place in the telling."""
        self._flush()
        return Mark(self._at, self._speaks, self._joins)

    def rewind(self, mark: Mark) -> None:
        """What was told since `mark` is void."""
        self._clear()
        self._go_back(mark)
        self._begin_message()

    def retell(self) -> None:
        """The turn is told again from its start. What differs voids the units from there on."""
        self._clear()
        self._at, self._said, self._speaks, self._joins = 0, 0, False, False
        self._begin_message()

    def restart(self) -> None:
        """As `retell`, where the trailing unit is void at once and only whole units are expected again."""
        if self._last_end(self._length) < self._length:
            self._void(self._last_end(self._length))
        self.retell()
        self._calls.clear()

    def retold(self) -> None:
        """The telling is complete for now: what is left of the one before is void, unless it is blank."""
        if self._slice(self._at, self._length).strip():
            self._diverge()

    # -- the way of the text -------------------------------------------------------------------

    def _flush(self) -> None:
        """Nothing more comes with what is held back: it is text."""
        self._pass(self._surrogates.decode(b"", True))
        if self._blocks:
            self._write(self._blocks.flush())

    def _pass(self, text: str) -> None:
        if not self._blocks:
            self._write(text)
            return
        said = ""
        for stretch, mark in self._blocks.feed(text):
            said += stretch
            if mark == _CLOSING and self._thought_from is not None:
                self._go_back(self._thought_from)
                said = ""
            if mark is not None:
                self._thought_from = None
        self._write(said)

    def _begin_message(self) -> None:
        self._thought_from = Mark(self._at, self._speaks, self._joins)

    def _go_back(self, mark: Mark) -> None:
        if self._at == self._length > mark.at and not self.ended:
            self._void(mark.at)
        self._at, self._speaks, self._joins = mark

    def _write(self, text: str) -> None:
        if not text or self.ended:
            return
        if self._joins and self._speaks:
            text = "\n\n" + text
        self._joins = False
        self._speaks = self._speaks or not text.isspace()
        known = self._slice(self._at, min(self._length, self._at + len(text)))
        if not text.startswith(known):
            self._diverge()
            known = ""
        self._at += len(text)
        if new := text[len(known) :]:
            self._append(new)

    def _diverge(self) -> None:
        """What was told differs from here on: void all from the end of the last unit that is the same."""
        kept = self._last_end(self._at)
        same = self._slice(kept, self._at)
        self._void(kept)
        if same:
            self._append(same)

    def _append(self, text: str) -> None:
        self._events.append(Delta(text))
        self._text.write(text)
        self._length += len(text)

    def _void(self, at: int) -> None:
        self._events.append(Reset(at))
        self._text.seek(at)
        self._text.truncate()
        self._length = at
        del self._ends[bisect_right(self._ends, at) :]

    def _last_end(self, at: int) -> int:
        place = bisect_right(self._ends, at)
        return self._ends[place - 1] if place else 0

    def _slice(self, start: int, end: int) -> str:
        if start >= end:
            return ""
        self._text.seek(start)
        text = self._text.read(end - start)
        self._text.seek(self._length)
        return text


def whole(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which no encoding can hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
