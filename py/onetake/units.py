"""Which text of a streaming reply is spoken, and in which units.

    cutter = Cutter()
    cutter.feed("One moment. Found it.")
    cutter.end_unit(12)                     # a tool call began here
    cutter.finish()
    [unit.text for unit in cutter.take()]   # ["One moment.", "Found it."]

A unit ends where a tool call begins and where the reply is final, nowhere else (see `boundaries` for written
replies). Positions are code points of the reply. Pure: import it anywhere.
"""

from __future__ import annotations

import heapq
import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from onetake.boundaries import Paragraphs
from onetake.errors import UsageError
from onetake.markup import Range, read


@dataclass(frozen=True, slots=True)
class Unit:
    """One speakable stretch of a reply: one synthesis request, one take.

    `index` counts the spoken units of the reply from 0. `start` and `end` are its range in the reply, cards
    and tags and white space included; `text` is what is spoken of it, never empty. `emotion` drives the face,
    in lower case.
    """

    generation: int
    index: int
    start: int
    end: int
    text: str
    emotion: str | None


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the reply: the range of a unit, one with nothing to say, or what is not taken yet."""

    start: int
    end: int
    kind: Literal["spoken", "silent", "pending"]


def speakable(unit: str) -> str:
    """What is spoken of a unit: all but its cards, the emotion tags at its end and outer white space.

    Inner line breaks, audio tags and all other markup stay as written. The start of the unit is the start of
    a line. Takes time linear in the unit's length. Raises `UsageError` for anything but a string.
    """
    return read(_checked_text("speakable", unit)).text


def take_units(
    content: str, unit_ends: Sequence[int], cursor: int, final: bool
) -> tuple[list[str], list[tuple[int, int]], int]:
    """The units of `content` that are complete beyond `cursor`: their texts, their ranges, the new cursor.

    Every end beyond the cursor and within the content closes one unit, in the order given. An end at or
    before the running start, or beyond the content, is passed over; it counts in a later call, when the text
    has arrived. With `final` whatever remains is the last unit. A stretch with nothing to say yields no unit,
    but moves the cursor.

    Stateless: called again and again while the reply grows, it gives the units of one call at the end,
    provided that the ends are in ascending order (an end given late may lie in a unit that an earlier call
    closed). Raises `UsageError` for a negative cursor, and for positions and texts of another type.
    """
    _checked_text("take_units", content)
    _checked_position("take_units", "cursor", cursor)
    texts: list[str] = []
    ranges: list[tuple[int, int]] = []
    for start, end in _stretches(unit_ends, cursor, len(content), final):
        if text := speakable(content[start:end]):
            texts.append(text)
            ranges.append((start, end))
        cursor = end
    return texts, ranges, cursor


class Cutter:
    """`take_units` held incrementally: the work is linear in the text fed, however it is split.

    At every `take()` it gives what `take_units` would for the text, the ends and the cursor so far. Nothing
    is decided earlier, so ends may come before their text and out of order. With `boundaries="paragraphs"` a
    unit also ends at each blank line outside fences; that rule is for written replies and refused for a
    spoken turn.
    """

    def __init__(self, *, boundaries: Literal["tools", "paragraphs"] = "tools", spoken: bool = True) -> None:
        if boundaries not in ("tools", "paragraphs"):
            raise UsageError(
                f"boundaries={boundaries!r}: there are 'tools' and 'paragraphs'; name one of them"
            )
        if boundaries == "paragraphs" and spoken:
            raise UsageError(
                "boundaries='paragraphs', spoken=True: a spoken turn is never cut at paragraphs, each cut is "
                "a cold start that is heard; use 'tools', or spoken=False for a written reply read aloud"
            )
        # The standard library's buffer of code points: appends in amortised constant time, reads anywhere.
        self._text = io.StringIO()
        self._paragraphs = Paragraphs() if boundaries == "paragraphs" else None
        self._ends: list[int] = []  # as given; reset() goes back to them
        self._waiting: list[tuple[int, int]] = []  # heap of (end, place in _ends): not yet due
        self._settled: list[Span] = []  # tile [0, cursor)
        self._indexes: list[int] = []  # for each settled span, how many units are in it and before it
        self._generation = 1
        self._length = 0
        self._final = False

    @property
    def generation(self) -> int:
        """1, raised by every reset."""
        return self._generation

    @property
    def length(self) -> int:
        """Code points of the reply so far."""
        return self._length

    @property
    def cursor(self) -> int:
        """Up to which code point units were taken."""
        return self._settled[-1].end if self._settled else 0

    @property
    def final(self) -> bool:
        """Whether the reply is complete."""
        return self._final

    def feed(self, text: str) -> None:
        """Append text to the reply. Raises `UsageError` after `finish()`, and for anything but a string."""
        _checked_text("feed", text)
        if self._final:
            raise UsageError(
                f"feed({text[:20]!r}): the reply is final at {self._length}; call reset() if it starts over"
            )
        self._text.write(text)
        self._length += len(text)
        if self._paragraphs:
            for end in self._paragraphs.feed(text):
                self._record(end)

    def end_unit(self, at: int) -> None:
        """Record that a unit ends at code point `at`; an end beyond the text so far waits for the text.

        Raises `UsageError` for anything but an integer of 0 or more.
        """
        self._record(_checked_position("end_unit", "at", at))

    def finish(self) -> None:
        """The reply is complete: what remains is the last unit. Harmless when repeated."""
        self._final = True

    def take(self) -> list[Unit]:
        """The units completed since the last call, in order. Moves the cursor."""
        taken: list[Unit] = []
        for start, end in _stretches(self._due(), self.cursor, self._length, self._final):
            reading = read(self.slice(start, end))
            count = self._indexes[-1] if self._indexes else 0
            if reading.text:
                taken.append(Unit(self._generation, count, start, end, reading.text, reading.emotion))
            self._settled.append(Span(start, end, "spoken" if reading.text else "silent"))
            self._indexes.append(count + bool(reading.text))
        return taken

    def reset(self, at: int = 0) -> None:
        """Go back to code point `at`: the next generation begins.

        Keeps the units taken that end at or before `at` (their indexes stay, numbering goes on after them),
        and the text and the recorded ends up to `at`. Forgets the rest; the reply is no longer final. Raises
        `UsageError` when `at` is not in 0..length.
        """
        _checked_position("reset", "at", at)
        if at > self._length:
            raise UsageError(
                f"reset(at={at}): the reply has {self._length} code points; reset at one of them, or at 0"
            )
        self._generation += 1
        self._final = False
        self._text.seek(at)
        self._text.truncate()
        self._length = at
        kept = bisect_right(self._settled, at, key=lambda span: span.end)
        del self._settled[kept:], self._indexes[kept:]
        self._ends = [end for end in self._ends if end <= at]
        self._waiting = [(end, place) for place, end in enumerate(self._ends)]
        heapq.heapify(self._waiting)
        if self._paragraphs:
            self._paragraphs = Paragraphs()
            self._paragraphs.feed(self.slice(0, at))  # the ends it finds again are recorded already

    def slice(self, start: int, end: int) -> str:
        """The reply from code point `start` to `end`, as written. Raises `UsageError` outside 0..length."""
        _checked_position("slice", "start", start)
        _checked_position("slice", "end", end)
        if not start <= end <= self._length:
            raise UsageError(
                f"slice({start}, {end}): ranges lie within 0..{self._length}, start first; mend them"
            )
        self._text.seek(start)
        text = self._text.read(end - start)
        self._text.seek(self._length)  # feed() appends
        return text

    def spans(self) -> list[Span]:
        """How the reply so far is accounted for: spans that tile [0, length) in order."""
        pending = [Span(self.cursor, self._length, "pending")] if self.cursor < self._length else []
        return [*self._settled, *pending]

    def _record(self, end: int) -> None:
        heapq.heappush(self._waiting, (end, len(self._ends)))
        self._ends.append(end)

    def _due(self) -> list[int]:
        """Ends whose text has arrived, in the order given. Each is handed out once."""
        places: list[int] = []
        while self._waiting and self._waiting[0][0] <= self._length:
            places.append(heapq.heappop(self._waiting)[1])
        return [self._ends[place] for place in sorted(places)]


def _stretches(ends: Iterable[int], start: int, length: int, final: bool) -> Iterator[Range]:
    """The one rule of both forms: which stretches beyond `start` are closed."""
    for end in ends:
        if start < _checked_integer("unit_ends", "end", end) <= length:
            yield start, end
            start = end
    if final and start < length:
        yield start, length


def _checked_text(call: str, text: str) -> str:
    if not isinstance(text, str):
        raise UsageError(f"{call}({text!r:.40}): text is a str, not {type(text).__name__}; decode it first")
    return text


def _checked_position(call: str, name: str, value: int) -> int:
    if _checked_integer(call, name, value) < 0:
        raise UsageError(
            f"{call}: {name}={value}: positions are code points, 0 or more; count from the start"
        )
    return value


def _checked_integer(call: str, name: str, value: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{call}: {name}={value!r:.40}: positions are integers (code points); pass an int")
    return value
