"""Whatever the text and however it arrives: the same units, and every code point accounted for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from onetake import Cutter, Unit, UsageError, paragraphs, speakable, take_units
from onetake.markup import cards, join, without

# Text that is mostly markup, in pieces that make and break fences and tags, over every kind of code point
# that counting has gone wrong with: astral, joined, combining, Hangul, right to left, lone surrogates, NUL.
FENCING = ["`", "```", "````", "~~~", "card", "```card", "\n```card\n", "\n```\n", " ", "    ", "\t", "a"]
LINES = ["\n", "\r", "\r\n", "\n\n", "\u2028"]
TAGS = ["[emotion:", "[emotion:joy]", "[EMOTION:Sad ]", "[", "]", "[softly]"]
SCRIPTS = ["😀", "👩\u200d👧", "e\u0301", "한", "\u1112\u1161\u11ab", "שלום", "\ud800", "\udc00", "\x00"]
MARKUP = st.sampled_from(FENCING + LINES + TAGS + SCRIPTS)
REPLIES = st.lists(MARKUP | st.text(max_size=3), max_size=30).map("".join)
FENCE_LINES = st.lists(
    st.sampled_from(["`", "```", "````", "~~~", "card", " ", "   ", "\t", "\n", "\r", "\r\n", "a"]),
    max_size=40,
).map("".join)


@st.composite
def replies_with_ends(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A reply and unit ends in ascending order, some beyond the reply, some given twice."""
    reply = draw(REPLIES)
    return reply, sorted(draw(st.lists(st.integers(0, len(reply) + 3), max_size=6)))


@st.composite
def splits(draw: st.DrawFn, text: str) -> list[str]:
    """The text in parts, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


def plain(units: list[Unit]) -> tuple[list[str], list[tuple[int, int]]]:
    return [unit.text for unit in units], [(unit.start, unit.end) for unit in units]


@given(replies_with_ends(), st.data())
def test_any_split_of_a_reply_gives_the_same_units(reply: tuple[str, list[int]], data: st.DataObject) -> None:
    """Taken after every part, with each end announced, in order, before, at or after its text."""
    text, ends = reply
    announced = [(end - data.draw(st.integers(0, 3)), end) for end in ends]
    cutter, units = Cutter(), []
    for part in data.draw(splits(text)):
        while announced and announced[0][0] <= cutter.length:
            cutter.end_unit(announced.pop(0)[1])
        cutter.feed(part)
        units += cutter.take()
    for _, end in announced:
        cutter.end_unit(end)
    cutter.finish()
    units += cutter.take()
    assert (*plain(units), cutter.cursor) == take_units(text, ends, 0, True)


@given(replies_with_ends(), st.data())
def test_take_units_while_the_text_grows_equals_one_call(
    reply: tuple[str, list[int]], data: st.DataObject
) -> None:
    text, ends = reply
    texts: list[str] = []
    ranges: list[tuple[int, int]] = []
    content, cursor = "", 0
    for part in data.draw(splits(text)):
        content += part
        new_texts, new_ranges, cursor = take_units(content, ends, cursor, False)
        texts += new_texts
        ranges += new_ranges
    new_texts, new_ranges, cursor = take_units(content, ends, cursor, True)
    assert (texts + new_texts, ranges + new_ranges, cursor) == take_units(text, ends, 0, True)


@given(REPLIES, st.lists(st.integers(-2, 60), max_size=8), st.integers(0, 60), st.booleans())
def test_ranges_grow_and_never_overlap(text: str, ends: list[int], cursor: int, final: bool) -> None:
    _, ranges, new_cursor = take_units(text, ends, cursor, final)
    at = cursor
    for start, end in ranges:
        assert at <= start < end <= len(text)
        at = end
    assert at <= new_cursor <= max(cursor, len(text))
    assert not final or new_cursor == max(cursor, len(text))


# Cutter against take_units ------------------------------------------------------------------------


@dataclass
class Stateless:
    """What a caller of `take_units` has to keep."""

    content: str = ""
    ends: list[int] = field(default_factory=list)
    cursor: int = 0
    final: bool = False

    def take(self) -> tuple[list[str], list[tuple[int, int]]]:
        texts, ranges, self.cursor = take_units(self.content, self.ends, self.cursor, self.final)
        return texts, ranges


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("feed"), st.lists(MARKUP, max_size=4).map("".join)),
        st.tuples(st.just("end_unit"), st.integers(0, 15)),
        st.tuples(st.just("take"), st.none()),
        st.tuples(st.just("finish"), st.none()),
        st.tuples(st.just("reset"), st.integers(0, 15)),
    ),
    max_size=40,
)


@given(ACTS)
def test_cutter_and_take_units_agree_on_everything(acts: list[tuple[str, object]]) -> None:
    """Ends in any order, early, late and double; resets anywhere; spans tile the reply after each act."""
    cutter, stateless, generation = Cutter(), Stateless(), 1
    for act, value in acts:
        if act == "feed" and isinstance(value, str):
            if cutter.final:
                continue
            cutter.feed(value)
            stateless.content += value
        elif act == "end_unit" and isinstance(value, int):
            cutter.end_unit(value)
            stateless.ends.append(value)
        elif act == "take":
            assert plain(cutter.take()) == stateless.take()
        elif act == "finish":
            cutter.finish()
            stateless.final = True
        elif act == "reset" and isinstance(value, int) and value <= cutter.length:
            closed = [span.end for span in cutter.spans() if span.end <= stateless.cursor]
            cutter.reset(value)
            generation += 1
            stateless.content = stateless.content[:value]
            stateless.ends = [end for end in stateless.ends if end <= value]
            stateless.cursor = max((end for end in closed if end <= value), default=0)
            stateless.final = False
        assert cutter.cursor == stateless.cursor
        assert (cutter.generation, cutter.final) == (generation, stateless.final)
        assert cutter.slice(0, cutter.length) == stateless.content
        assert_tiled(cutter)


def assert_tiled(cutter: Cutter) -> None:
    spans = cutter.spans()
    assert [span.start for span in spans] == [0, *(span.end for span in spans)][: len(spans)]
    assert (spans[-1].end if spans else 0) == cutter.length
    for span in spans:
        assert span.start < span.end
        said = speakable(cutter.slice(span.start, span.end))
        assert span.kind == ("pending" if span.start >= cutter.cursor else "spoken" if said else "silent")


@given(ACTS)
def test_units_are_numbered_in_order_and_carry_their_generation(acts: list[tuple[str, object]]) -> None:
    cutter, kept = Cutter(), list[Unit]()
    for act, value in acts:
        try:
            taken = getattr(cutter, act)(*(() if value is None else (value,)))
        except UsageError:
            continue
        if act == "take":
            assert all(unit.generation == cutter.generation for unit in taken)
            kept += taken
        elif act == "reset" and isinstance(value, int):
            kept = [unit for unit in kept if unit.end <= value]
        assert [unit.index for unit in kept] == list(range(len(kept)))
        assert all(before.end <= after.start for before, after in pairwise(kept))


@given(REPLIES)
def test_a_unit_is_spoken_as_written_but_for_what_is_removed(reply: str) -> None:
    """What is spoken is the unit's own code points, in order."""
    rest = iter(reply)
    assert all(character in rest for character in speakable(reply))


@given(st.text(alphabet=st.characters(exclude_characters="`[")))
def test_text_without_markup_is_spoken_whole(text: str) -> None:
    assert speakable(text) == text.strip()


# Cards against markdown-it --------------------------------------------------------------------------

BLOCKS = MarkdownIt("zero").enable(["fence", "code"])


def fences(text: str) -> list[tuple[bool, int, int]]:
    """The fenced blocks of a text: whether it is a card, its first line, and the line after its last."""
    tokens = BLOCKS.parse(text + "\n")  # the parser overlooks a last line that is blank and has no end
    return [
        (token.markup[0] == "`" and token.info.strip(" \t") == "card", token.map[0], token.map[1])
        for token in tokens
        if token.type == "fence" and token.map
    ]


@given(FENCE_LINES)
def test_cards_are_found_where_a_markdown_parser_finds_them(text: str) -> None:
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
    for card, first, after in fences(text):
        if card:
            lines[first:after] = [""] * (after - first)
    assert join(text, without(text, cards(text))) == "".join(lines)


# Paragraphs ----------------------------------------------------------------------------------------


@given(REPLIES, st.data())
def test_any_split_of_a_written_reply_gives_the_same_paragraphs(reply: str, data: st.DataObject) -> None:
    cutter, units = Cutter(boundaries="paragraphs", spoken=False), []
    for part in data.draw(splits(reply)):
        cutter.feed(part)
        units += cutter.take()
    cutter.finish()
    units += cutter.take()
    assert (*plain(units), cutter.cursor) == take_units(reply, paragraphs(reply), 0, True)
    assert_tiled(cutter)


@given(FENCE_LINES)
def test_no_paragraph_ends_inside_a_fence(text: str) -> None:
    fenced = fences(text)
    for end in paragraphs(text):
        blank_line = len(re.findall(r"\r\n|\r|\n", text[:end])) - 1
        assert not any(first <= blank_line < after for _, first, after in fenced)
