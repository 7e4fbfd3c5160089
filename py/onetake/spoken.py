"""Spoken and shown: two views of one text, joined by one offset map.

    spoken = for_engine(" Fine. [softly] Rest.", audio_tags=False, start=100)
    spoken.text             # "Fine. Rest."
    spoken.to_reply(6)      # 116, the R of "Rest." in the reply
    spoken.start, spoken.end        # (100, 121), the range of the unit

Positions are code points, never words: engines rewrite numbers and quotes, and words repeat.
Pure: import it anywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate

from onetake.errors import UsageError
from onetake.markup import Range, join, read, select, without
from onetake.markup import audio_tags as find_audio_tags


@dataclass(frozen=True, slots=True)
class Spoken:
    """The text sent to an engine and where it stands in the reply.

    `start` and `end` are the unit's range in the reply; `pieces` the ranges of the reply, in order, that
    `text` is made of. `text` may be empty: there is nothing to synthesise then.
    """

    text: str
    start: int
    end: int
    pieces: tuple[Range, ...]
    _offsets: tuple[int, ...] = field(init=False, repr=False, compare=False)  # of the pieces in `text`

    def __post_init__(self) -> None:
        lengths = (end - start for start, end in self.pieces)
        object.__setattr__(self, "_offsets", tuple(accumulate(lengths, initial=0))[:-1])

    def to_reply(self, i: int) -> int:
        """Where code point `i` of `text` stands in the reply; for `len(text)`, the position after the last.

        Monotone, and within `start`..`end`. Raises `UsageError` when `i` is not in 0..len(text).
        """
        if not 0 <= i <= len(self.text):
            raise UsageError(
                f"to_reply({i}): the text sent has {len(self.text)} code points; ask for 0 to it"
            )
        if not self.pieces:
            return self.start
        piece = bisect_right(self._offsets, i) - 1
        return self.pieces[piece][0] + i - self._offsets[piece]


def for_engine(unit: str, audio_tags: bool, start: int = 0) -> Spoken:
    """The speakable text of a unit: with its audio tags for an engine that knows them, or without.

    `unit` is the unit as written, `start` its offset in the reply. A dropped tag leaves no doubled spaces and
    no outer white space. Takes time linear in the unit's length.
    """
    if not isinstance(unit, str):
        raise UsageError(
            f"for_engine({unit!r:.40}): a unit is a str, not {type(unit).__name__}; slice the reply"
        )
    reading = read(unit)
    pieces = list(reading.pieces)
    if not audio_tags:
        pieces = select(pieces, _around(reading.text, find_audio_tags(reading.text)))
        text = join(unit, pieces)
        pieces = select(pieces, [(len(text) - len(text.lstrip()), len(text.rstrip()))])
    shifted = tuple((start + piece_start, start + piece_end) for piece_start, piece_end in pieces)
    return Spoken(join(unit, pieces), start, start + len(unit), shifted)


def _around(text: str, tags: list[Range]) -> list[Range]:
    """The ranges of `text` that stay when `tags` go, with the spaces behind one if white space is before."""
    gaps: list[Range] = []
    kept_space = True
    for start, end in tags:
        if not gaps or gaps[-1][1] < start:
            kept_space = start == 0 or text[start - 1].isspace()
        while kept_space and end < len(text) and text[end] in " \t":
            end += 1
        gaps.append((start, end))
    return without(text, gaps)
