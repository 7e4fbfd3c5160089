"""The markup of a reply that is not prose: fenced blocks, cards, emotion tags and audio tags.

    reading = read("Fine. [softly] Rest.\n```card\n|a|\n```\n[emotion:warm]")
    reading.text        # "Fine. [softly] Rest."
    reading.pieces      # ((0, 20),): the ranges of the unit which that text is made of
    reading.emotion     # "warm"
    audio_tags(reading.text)        # [(6, 14)]

Every function takes time linear in its text, whatever the text. Positions are code points.
Pure: the text modules (`units`, `spoken`, `heard`, `boundaries`) import it; others use those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

AUDIO_TAG_LENGTH = 60  # code points between the brackets; directions are short, a longer group is an aside

LINE_BREAK = re.compile(r"\r\n?|\n")  # CommonMark's; str.splitlines knows eight more

_EMOTION = "[emotion:"
_LINE_START = r"(?:\A|(?<=[\r\n]))"
# Possessive quantifiers: a line is read once, so a megabyte of backticks is as easy as one of prose.
_FENCE_LINE = re.compile(_LINE_START + r" {0,3}(?P<run>`{3,}+|~{3,}+)(?P<info>[^\r\n]*+)")
_BRACKET_OR_BREAK = re.compile(r"[\[\]\r\n]")
_LINK_DEFINITION = re.compile(_LINE_START + rf" {{0,3}}\[([^\[\]\r\n]{{1,{AUDIO_TAG_LENGTH}}})\]:")

Range = tuple[int, int]


class Fence:
    """Follows the fenced blocks of a text; read its lines in order.

    CommonMark 0.31, section 4.5, for blocks at the top level: blocks inside quotations, lists and raw HTML
    are judged by their lines alone. `card` says whether the open block is a card.
    """

    __slots__ = ("_length", "_mark", "card")

    def __init__(self) -> None:
        self._mark = ""
        self._length = 0
        self.card = False

    @property
    def open(self) -> bool:
        """Whether the line just read stands in a block that goes on."""
        return bool(self._mark)

    def read(self, line: str) -> None:
        """Take note of one line (without its line break)."""
        marks = _FENCE_LINE.match(line)
        if not marks:
            return
        run, info = marks["run"], marks["info"].strip(" \t")
        if self.open:
            if not info and run[0] == self._mark and len(run) >= self._length:
                self._mark, self.card = "", False
        elif run[0] == "~" or "`" not in info:  # a backtick in the info string makes the line inline code
            self._mark, self._length = run[0], len(run)
            self.card = run[0] == "`" and info == "card"


def cards(text: str) -> list[Range]:
    """The ranges of all cards, each with the line break behind it; one left open runs to the end."""
    if "```" not in text:
        return []
    found: list[Range] = []
    fence, start = Fence(), 0
    for line in _FENCE_LINE.finditer(text):
        inside = fence.card
        fence.read(line[0])
        if fence.card and not inside:
            start = line.start()
        elif inside and not fence.card:
            line_break = LINE_BREAK.match(text, line.end())
            found.append((start, line_break.end() if line_break else line.end()))
    if fence.card:
        found.append((start, len(text)))
    return found


@dataclass(frozen=True, slots=True)
class Reading:
    """What of a unit is spoken.

    `pieces` are ranges of the unit, in order and never empty; joined they are `text`. `emotion` is the name
    in the last emotion tag that has one, in lower case, or None.
    """

    text: str
    pieces: tuple[Range, ...]
    emotion: str | None


def read(unit: str) -> Reading:
    """Remove every card, then every emotion tag at the end, then outer white space."""
    pieces = without(unit, cards(unit))
    text = join(unit, pieces)
    end, emotion = _before_emotions(text)
    start = len(text) - len(text.lstrip())
    pieces = select(pieces, [(start, end)])
    return Reading(join(unit, pieces), tuple(pieces), emotion)


def audio_tags(text: str) -> list[Range]:
    """The ranges of the directions to an engine, such as `[softly]`, in order.

    One is a bracket group on one line with at least one letter and at most 60 code points between its
    brackets. Links (`[a](b)`, and `[a][b]` or `[b]` where the text defines `[b]:`), numbers (`[1]`, `[2,
    3]`), footnotes (`[^a]`) and check boxes (`[x]`, `[ ]`) are none. Of nested groups the outermost that
    qualifies counts.
    """
    if "[" not in text:
        return []
    groups = _bracket_groups(text)
    ends = dict(groups)
    labels = {_label(label) for label in _LINK_DEFINITION.findall(text)} - {""}

    def inner(start: int) -> str:
        # Longer groups are never tags nor labels; not slicing them keeps deep nesting linear.
        end = ends.get(start, start)
        return text[start + 1 : end - 1] if end - start - 2 <= AUDIO_TAG_LENGTH else ""

    found: list[Range] = []
    settled = 0
    for start, end in groups:
        if start < settled:
            continue
        if text.startswith("(", end) or _label(inner(start)) in labels or _label(inner(end)) in labels:
            settled = end
        elif _is_direction(inner(start).strip()):
            found.append((start, end))
            settled = end
    return found


def without(text: str, gaps: Iterable[Range]) -> list[Range]:
    """The ranges of `text` that `gaps` (in order, apart) leave."""
    kept: list[Range] = []
    start = 0
    for gap_start, gap_end in gaps:
        if start < gap_start:
            kept.append((start, gap_start))
        start = gap_end
    if start < len(text):
        kept.append((start, len(text)))
    return kept


def join(text: str, pieces: Iterable[Range]) -> str:
    """The text that `pieces` of `text` make up."""
    return "".join(text[start:end] for start, end in pieces)


def select(pieces: Sequence[Range], kept: Iterable[Range]) -> list[Range]:
    """Which ranges of a source stay when of the text that `pieces` of it make up only `kept` does."""
    chosen: list[Range] = []
    at, number = 0, 0  # where the piece under the finger begins in the joined text, and which piece it is
    for start, end in kept:
        while start < end:
            piece_start, piece_end = pieces[number]
            piece_stop = at + piece_end - piece_start
            if start >= piece_stop:
                at, number = piece_stop, number + 1
                continue
            stop = min(end, piece_stop)
            chosen.append((piece_start + start - at, piece_start + stop - at))
            start = stop
    return chosen


def _before_emotions(text: str) -> tuple[int, str | None]:
    """Where the text ends without its trailing emotion tags and white space, and the emotion they name.

    A name has no brackets and no line break. A tag that lacks its `]` (cut stream) must be one word:
    "[emotion:joy to all" is prose with a slip in it, and prose is never deleted.
    """
    emotion: str | None = None
    end = len(text.rstrip())
    while True:
        start = text.rfind("[", 0, end)
        if start < 0 or text[start : start + len(_EMOTION)].lower() != _EMOTION:
            return end, emotion
        name = text[start + len(_EMOTION) : end]
        closed = name.endswith("]")
        name = name.removesuffix("]")
        if "]" in name or "\n" in name or "\r" in name or not (closed or len(name.split()) <= 1):
            return end, emotion
        emotion = emotion or name.strip().lower() or None
        end = start
        while end and text[end - 1].isspace():  # no slices here: thousands of tags in a row stay linear
            end -= 1


def _bracket_groups(text: str) -> list[Range]:
    """Every balanced pair of brackets on one line, by start."""
    groups: list[Range] = []
    opened: list[int] = []
    for match in _BRACKET_OR_BREAK.finditer(text):
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] != "]":
            opened.clear()
        elif opened:
            groups.append((opened.pop(), match.end()))
    groups.sort()
    return groups


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _is_direction(inner: str) -> bool:
    return inner not in ("x", "X") and not inner.startswith("^") and any(map(str.isalpha, inner))
