"""What is spoken of a reply, unit by unit: the table of the design and the rules around it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from onetake import Cutter, Span, Unit, UsageError, paragraphs, speakable, take_units

# unit, what is spoken of it ("" = nothing: no unit)
TABLE = [
    ("잠깐, 일정 확인해볼게. ", "잠깐, 일정 확인해볼게."),
    ("It is [softly] fine.\n\nRest.\n```card\n|a|\n```\n[emotion:warm]", "It is [softly] fine.\n\nRest."),
    ("a\n```card\n```\nb", "a\nb"),
    ("a\n````card\n```\nx\n```\n````\nb", "a\nb"),
    ("a\n```card\nx", "a"),
    ("a\n```cards\nx\n```", "a\n```cards\nx\n```"),
    ("say ```card", "say ```card"),
    ("[emotion:joy]", ""),
    ("  \n", ""),
]

CARDS = [
    pytest.param("a\r\n```card\r\nx\r\n```\r\nb", "a\r\nb", id="crlf"),
    pytest.param("a\r```card\rx\r```\rb", "a\rb", id="carriage_returns"),
    pytest.param("```card\nx\n```", "", id="nothing_else"),
    pytest.param("a\n   ```card\nx\n   ```\nb", "a\nb", id="three_spaces_of_indent"),
    pytest.param("a\n    ```card\nx", "a\n    ```card\nx", id="four_spaces_of_indent_are_no_card"),
    pytest.param("a\n\t```card\nx", "a\n\t```card\nx", id="a_tab_of_indent_is_no_card"),
    pytest.param("a\n```card\nx\n    ```\ny", "a", id="four_spaces_of_indent_close_nothing"),
    pytest.param("a\n``` \tcard\t \nx\n``` \t\nb", "a\nb", id="blanks_around_the_info_string_and_the_end"),
    pytest.param("a\n```card\nx\n``` y\nb", "a", id="text_behind_a_closing_fence_closes_nothing"),
    pytest.param("a\n````card\nx\n```\nb", "a", id="fewer_backticks_close_nothing"),
    pytest.param("a\n```card\nx\n`````\nb", "a\nb", id="more_backticks_close"),
    pytest.param("a\n```card\nx\n~~~\nb", "a", id="tildes_do_not_close_backticks"),
    pytest.param("a\n``card\nx ```\n``", "a\n``card\nx ```\n``", id="two_backticks_are_no_card"),
    pytest.param("a\n~~~card\nx ```\n~~~", "a\n~~~card\nx ```\n~~~", id="tildes_are_no_card"),
    pytest.param("a\n```\xa0card\nx", "a\n```\xa0card\nx", id="other_white_space_is_part_of_the_info_string"),
    pytest.param("a\n```Card\nx\n```", "a\n```Card\nx\n```", id="another_case_is_no_card"),
    pytest.param("a\n```card x\ny\n```", "a\n```card x\ny\n```", id="more_info_is_no_card"),
    pytest.param("a\n```card`\nb", "a\n```card`\nb", id="a_backtick_in_the_info_string_is_no_fence"),
    pytest.param("```a`\n```card\nx\n```\nb", "```a`\nb", id="a_card_after_such_a_line"),
    pytest.param("```py\n```card\nx", "```py\n```card\nx", id="a_card_line_in_an_open_fence_is_no_card"),
    pytest.param("~~~\n```card\n```\n~~~", "~~~\n```card\n```\n~~~", id="a_card_line_in_tildes_is_no_card"),
    pytest.param("```py\nx\n```\n```card\ny\n```", "```py\nx\n```", id="a_card_after_a_closed_fence"),
    pytest.param("a\n```card\nx\n```\n```card\ny\n```\nb", "a\nb", id="cards_one_after_the_other"),
    pytest.param("a\n```card\nx\n```\n\nb", "a\n\nb", id="the_line_break_behind_goes_and_no_other"),
    pytest.param("a\u2028```card\nb", "a\u2028```card\nb", id="a_line_separator_starts_no_line"),
]

EMOTIONS = [
    pytest.param("Hi [emotion:warm]", "Hi", "warm", id="at_the_end"),
    pytest.param("Hi [EMOTION:Warm]", "Hi", "warm", id="in_any_case"),
    pytest.param("Hi [emotion: warm ]", "Hi", "warm", id="with_blanks"),
    pytest.param("Hi [emotion:very happy]", "Hi", "very happy", id="of_two_words"),
    pytest.param(
        "Hi [emotion:joy] [emotion:sad]\n[emotion:warm] ", "Hi", "warm", id="several_last_one_counts"
    ),
    pytest.param("Hi [emotion:war", "Hi", "war", id="cut"),
    pytest.param("Hi [emotion:", "Hi", None, id="cut_before_its_name"),
    pytest.param("Hi [emotion:joy][emotion:", "Hi", "joy", id="cut_before_its_name_after_another"),
    pytest.param("Hi [emotion:joy [emotion:sad]", "Hi", "sad", id="one_without_its_bracket_before_another"),
    pytest.param("Hi [emotion:]", "Hi", None, id="without_a_name"),
    pytest.param("Hi [emotion:joy]\n```card\nx\n```\n", "Hi", "joy", id="before_a_card"),
    pytest.param("Hi [emotion:joy] you", "Hi [emotion:joy] you", None, id="inside_stays"),
    pytest.param("Hi [emotion:joy].", "Hi [emotion:joy].", None, id="before_a_full_stop_stays"),
    pytest.param("Hi [emotion:joy to all", "Hi [emotion:joy to all", None, id="prose_behind_a_slip_stays"),
    pytest.param("Hi [emotion:joy\nto all]", "Hi [emotion:joy\nto all]", None, id="over_two_lines_stays"),
    pytest.param("Hi [emotion:joy\rto all]", "Hi [emotion:joy\rto all]", None, id="over_two_lines_cr_stays"),
    pytest.param("Hi [emotion:joy]]", "Hi [emotion:joy]]", None, id="a_bracket_too_many_stays"),
    pytest.param("Hi [emo", "Hi [emo", None, id="cut_before_the_colon_stays"),
]

PROSE = [
    "a *b* c",
    "## a",
    "a\n```py\nb\n```\nc",
    "[softly] a",
    "a [emotional] b [x](y)",
    "word `card` word",
    "👩\u200d👩\u200d👧 e\u0301 한국어 שלום \ud800 \x00 a\u2028b",
]

# splits ------------------------------------------------------------------------------------------


def whole(text: str) -> Iterable[list[str]]:
    yield [text]


def one_by_one(text: str) -> Iterable[list[str]]:
    yield list(text)


def two_way_splits(text: str) -> Iterable[list[str]]:
    return ([text[:at], text[at:]] for at in range(len(text) + 1))


def cut(parts: Iterable[str]) -> list[Unit]:
    """The units of a reply fed in parts and taken after each."""
    cutter = Cutter()
    units: list[Unit] = []
    for part in parts:
        cutter.feed(part)
        units += cutter.take()
    cutter.finish()
    return units + cutter.take()


@pytest.mark.parametrize("splits", [whole, one_by_one, two_way_splits])
@pytest.mark.parametrize(("unit", "spoken"), TABLE)
class TestTable:
    def test_row_is_spoken_so_however_it_is_split(self, unit: str, spoken: str, splits: Any) -> None:
        for parts in splits(unit):
            assert [(u.start, u.end, u.text) for u in cut(parts)] == (
                [(0, len(unit), spoken)] if spoken else []
            ), parts

    def test_row_is_spoken_so_with_a_tail(self, unit: str, spoken: str, splits: Any) -> None:
        """A tool call ends the unit and the reply goes on."""
        for parts in splits(unit):
            cutter = Cutter()
            for part in parts:
                cutter.feed(part)
            cutter.end_unit(len(unit))
            cutter.feed("```card")  # would be a fence line if units were not read apart
            cutter.feed(" tail")
            assert [u.text for u in cutter.take()] == ([spoken] if spoken else []), parts
            assert cutter.spans() == [
                Span(0, len(unit), "spoken" if spoken else "silent"),
                Span(len(unit), cutter.length, "pending"),
            ]


@pytest.mark.parametrize(("unit", "spoken"), TABLE)
def test_speakable_of_each_row(unit: str, spoken: str) -> None:
    assert speakable(unit) == spoken


@pytest.mark.parametrize(("unit", "spoken"), TABLE)
def test_take_units_of_each_row(unit: str, spoken: str) -> None:
    expected = ([spoken], [(0, len(unit))], len(unit)) if spoken else ([], [], len(unit))
    assert take_units(unit, [], 0, True) == expected


@pytest.mark.parametrize(("unit", "spoken"), CARDS)
def test_cards_are_the_fenced_blocks_of_commonmark(unit: str, spoken: str) -> None:
    assert speakable(unit) == spoken


@pytest.mark.parametrize(("unit", "spoken", "emotion"), EMOTIONS)
def test_emotion_tag(unit: str, spoken: str, emotion: str | None) -> None:
    assert [(u.text, u.emotion) for u in cut([unit])] == [(spoken, emotion)]


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_never_deleted(text: str) -> None:
    assert speakable(text) == text


def test_speakable_refuses_bytes() -> None:
    with pytest.raises(UsageError, match=r"b'a'.*str.*decode"):
        speakable(b"a")  # type: ignore[arg-type]


# take_units --------------------------------------------------------------------------------------


def test_two_tool_calls_make_three_units_that_tile_the_reply() -> None:
    reply = "One moment. Let me look again. Found it."
    assert take_units(reply, [12, 31], 0, True) == (
        ["One moment.", "Let me look again.", "Found it."],
        [(0, 12), (12, 31), (31, 40)],
        40,
    )


@pytest.mark.parametrize(
    ("ends", "cursor", "final", "ranges", "new_cursor"),
    [
        pytest.param([], 0, False, [], 0, id="nothing_ends"),
        pytest.param([4], 0, False, [(0, 4)], 4, id="text_behind_the_last_end_waits"),
        pytest.param([9], 0, False, [], 0, id="an_end_beyond_the_content_is_passed_over"),
        pytest.param([9, 4], 0, False, [(0, 4)], 4, id="an_end_behind_one_that_is_passed_over_counts"),
        pytest.param([8], 0, False, [(0, 8)], 8, id="an_end_at_the_content_s_end_counts"),
        pytest.param([4, 4], 0, False, [(0, 4)], 4, id="an_end_given_twice_closes_once"),
        pytest.param([6, 2], 0, False, [(0, 6)], 6, id="an_end_out_of_order_is_passed_over"),
        pytest.param([0, 2, 4], 2, False, [(2, 4)], 4, id="ends_up_to_the_cursor_are_passed_over"),
        pytest.param([-1], 0, False, [], 0, id="an_end_before_the_content_is_passed_over"),
        pytest.param([8], 0, True, [(0, 8)], 8, id="an_end_at_the_end_of_a_final_reply_closes_once"),
        pytest.param([], 8, True, [], 8, id="nothing_remains"),
        pytest.param([], 9, True, [], 9, id="a_cursor_beyond_the_content_stays"),
    ],
)
def test_take_units(
    ends: list[int], cursor: int, final: bool, ranges: list[tuple[int, int]], new_cursor: int
) -> None:
    texts, found, at = take_units("abcdefgh", ends, cursor, final)
    assert (found, at) == (ranges, new_cursor)
    assert texts == ["abcdefgh"[start:end] for start, end in ranges]


def test_a_stretch_with_nothing_to_say_moves_the_cursor() -> None:
    assert take_units("```card\nx\n```\nHi.", [14], 0, False) == ([], [], 14)


def test_take_units_refuses_a_negative_cursor() -> None:
    with pytest.raises(UsageError, match="cursor=-1"):
        take_units("a", [], -1, True)


@pytest.mark.parametrize("end", ["1", 1.0, None, True])
def test_take_units_refuses_ends_that_are_no_integers(end: Any) -> None:
    with pytest.raises(UsageError, match="integers"):
        take_units("abc", [end], 0, True)


# Cutter ------------------------------------------------------------------------------------------


def test_positions_are_code_points() -> None:
    cutter = Cutter()
    cutter.feed("😀a.")
    cutter.end_unit(3)
    cutter.feed("👩\u200d👧 b")
    cutter.finish()
    assert [(u.start, u.end, u.text) for u in cutter.take()] == [(0, 3, "😀a."), (3, 8, "👩\u200d👧 b")]


def test_units_are_numbered_over_silent_stretches() -> None:
    cutter = Cutter()
    cutter.feed("a.  b.")
    for end in (2, 4, 6):
        cutter.end_unit(end)
    assert [(u.index, u.text) for u in cutter.take()] == [(0, "a."), (1, "b.")]
    assert cutter.spans() == [Span(0, 2, "spoken"), Span(2, 4, "silent"), Span(4, 6, "spoken")]


def test_an_end_waits_for_its_text() -> None:
    cutter = Cutter()
    cutter.end_unit(3)
    cutter.feed("ab")
    assert cutter.take() == []
    cutter.feed("cd")
    assert [u.text for u in cutter.take()] == ["abc"]
    assert cutter.cursor == 3


def test_ends_that_became_due_together_count_in_the_order_given() -> None:
    cutter = Cutter()
    cutter.end_unit(6)
    cutter.end_unit(2)
    cutter.feed("abcdefgh")
    assert [(u.start, u.end) for u in cutter.take()] == [(0, 6)]


def test_an_end_where_the_last_unit_ended_makes_no_span() -> None:
    cutter = Cutter()
    cutter.end_unit(0)
    cutter.feed("ab")
    cutter.end_unit(2)
    cutter.end_unit(2)
    cutter.take()
    assert cutter.spans() == [Span(0, 2, "spoken")]


def test_a_unit_is_taken_once() -> None:
    cutter = Cutter()
    cutter.feed("ab")
    cutter.end_unit(2)
    assert len(cutter.take()) == 1
    cutter.end_unit(2)
    cutter.finish()
    assert cutter.take() == []


def test_feeding_after_finish_is_refused_and_changes_nothing() -> None:
    cutter = Cutter()
    cutter.feed("ab")
    cutter.finish()
    with pytest.raises(UsageError, match=r"'more'.*final at 2.*reset"):
        cutter.feed("more")
    assert (cutter.length, cutter.final, [u.text for u in cutter.take()]) == (2, True, ["ab"])


def test_finishing_twice_is_harmless() -> None:
    cutter = Cutter()
    cutter.feed("ab")
    cutter.finish()
    cutter.finish()
    assert [u.text for u in cutter.take()] == ["ab"]


@pytest.mark.parametrize("at", [-1, 1.0, "1", None, True])
def test_an_end_that_is_no_position_is_refused_and_changes_nothing(at: Any) -> None:
    cutter = Cutter()
    cutter.feed("ab")
    with pytest.raises(UsageError, match="end_unit: at="):
        cutter.end_unit(at)
    cutter.finish()
    assert [u.text for u in cutter.take()] == ["ab"]


def test_text_that_is_no_string_is_refused() -> None:
    with pytest.raises(UsageError, match=r"feed\(b'a'\)"):
        Cutter().feed(b"a")  # type: ignore[arg-type]


def test_slice_gives_the_reply_as_written_and_feeding_goes_on_behind_it() -> None:
    cutter = Cutter()
    cutter.feed("a\r\nb")
    assert cutter.slice(1, 3) == "\r\n"
    cutter.feed("\rc")
    assert cutter.slice(0, 6) == "a\r\nb\rc"


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (1, 0), (0, 3)])
def test_slice_outside_the_reply_is_refused(start: int, end: int) -> None:
    cutter = Cutter()
    cutter.feed("ab")
    with pytest.raises(UsageError, match="slice"):
        cutter.slice(start, end)


# reset -------------------------------------------------------------------------------------------


@pytest.fixture
def streamed() -> Cutter:
    """Two units taken (0-2 and 4-6, a silent stretch between them), a third one fed."""
    cutter = Cutter()
    cutter.feed("a.  b.cc")
    for end in (2, 4, 6):
        cutter.end_unit(end)
    assert len(cutter.take()) == 2
    return cutter


def test_reset_starts_over_in_the_next_generation(streamed: Cutter) -> None:
    streamed.reset()
    assert (streamed.generation, streamed.length, streamed.cursor, streamed.spans()) == (2, 0, 0, [])
    streamed.feed("new")
    streamed.finish()
    assert streamed.take() == [Unit(2, 0, 0, 3, "new", None)]


@pytest.mark.parametrize(
    ("at", "cursor", "spans"),
    [
        pytest.param(8, 6, [(0, 2), (2, 4), (4, 6), (6, 8)], id="at_the_end_keeps_all"),
        pytest.param(7, 6, [(0, 2), (2, 4), (4, 6), (6, 7)], id="in_pending_text_keeps_what_is_before"),
        pytest.param(6, 6, [(0, 2), (2, 4), (4, 6)], id="at_a_unit_s_end_keeps_the_unit"),
        pytest.param(5, 4, [(0, 2), (2, 4), (4, 5)], id="in_a_unit_forgets_the_unit"),
        pytest.param(3, 2, [(0, 2), (2, 3)], id="in_a_silent_stretch_opens_it_again"),
        pytest.param(1, 0, [(0, 1)], id="in_the_first_unit"),
    ],
)
def test_reset_keeps_whole_units_and_the_text_before(
    streamed: Cutter, at: int, cursor: int, spans: list[tuple[int, int]]
) -> None:
    streamed.reset(at)
    assert streamed.cursor == cursor
    assert [(span.start, span.end) for span in streamed.spans()] == spans
    assert streamed.take() == []


def test_numbering_goes_on_after_the_units_kept(streamed: Cutter) -> None:
    streamed.reset(3)
    streamed.feed(" new")
    streamed.finish()
    assert streamed.take() == [Unit(2, 1, 2, 7, "new", None)]


def test_ends_beyond_the_reset_are_forgotten() -> None:
    cutter = Cutter()
    cutter.feed("ab")
    cutter.end_unit(4)
    cutter.reset(2)
    cutter.feed("cdef")
    cutter.finish()
    assert [u.text for u in cutter.take()] == ["abcdef"]


def test_ends_not_taken_yet_survive_a_reset_at_or_behind_them() -> None:
    for at in (2, 3):
        cutter = Cutter()
        cutter.feed("abcd")
        cutter.end_unit(2)
        cutter.reset(at)
        assert [(u.generation, u.text) for u in cutter.take()] == [(2, "ab")]


def test_reset_after_finish_lets_the_reply_go_on() -> None:
    cutter = Cutter()
    cutter.feed("ab")
    cutter.finish()
    cutter.take()
    cutter.reset(2)
    assert not cutter.final
    cutter.feed("cd")
    cutter.finish()
    assert cutter.take() == [Unit(2, 1, 2, 4, "cd", None)]


@pytest.mark.parametrize("at", [-1, 9, "0", None])
def test_reset_outside_the_reply_is_refused_and_changes_nothing(streamed: Cutter, at: Any) -> None:
    with pytest.raises(UsageError, match="reset"):
        streamed.reset(at)
    assert (streamed.generation, streamed.length, streamed.cursor) == (1, 8, 6)


# paragraphs --------------------------------------------------------------------------------------

PARAGRAPHS = [
    pytest.param("One.\n\nTwo.", [6], id="a_blank_line"),
    pytest.param("One.\r\n\r\nTwo.", [8], id="crlf"),
    pytest.param("One.\r\rTwo.", [6], id="carriage_returns"),
    pytest.param("One.\n \t\nTwo.", [8], id="blanks"),
    pytest.param("One.\n\n\n\nTwo.\n\nThree.", [6, 14], id="several_blank_lines_end_once"),
    pytest.param("\n\nOne.", [], id="blank_lines_before_any_text_end_nothing"),
    pytest.param("One.\nTwo.", [], id="a_line_break_alone_ends_nothing"),
    pytest.param("```py\na\n\nb\n```\n\nTwo.", [16], id="blank_lines_in_a_fence_end_nothing"),
    pytest.param("~~~\n\n```\n\n", [], id="blank_lines_in_a_fence_left_open_end_nothing"),
    pytest.param("One.\n\xa0\nTwo.", [], id="a_line_of_other_white_space_is_not_blank"),
]


@pytest.mark.parametrize(("content", "ends"), PARAGRAPHS)
def test_paragraphs_end_at_blank_lines_outside_fences(content: str, ends: list[int]) -> None:
    assert paragraphs(content) == ends


@pytest.mark.parametrize("splits", [whole, one_by_one, two_way_splits])
@pytest.mark.parametrize(("content", "ends"), PARAGRAPHS)
def test_a_written_reply_is_cut_at_its_paragraphs(content: str, ends: list[int], splits: Any) -> None:
    for parts in splits(content):
        cutter = Cutter(boundaries="paragraphs", spoken=False)
        for part in parts:
            cutter.feed(part)
            cutter.take()
        cutter.finish()
        cutter.take()
        assert [span.end for span in cutter.spans()] == [*ends, len(content)], parts


def test_a_tool_call_ends_a_unit_of_a_written_reply_too() -> None:
    cutter = Cutter(boundaries="paragraphs", spoken=False)
    cutter.feed("One.\n\nTwo. Th")
    cutter.end_unit(11)
    cutter.feed("ree.\n\n")
    assert [u.text for u in cutter.take()] == ["One.", "Two.", "Three."]


def test_paragraphs_are_found_again_after_a_reset() -> None:
    cutter = Cutter(boundaries="paragraphs", spoken=False)
    cutter.feed("One.\n\n```\nTwo.\n\n")
    cutter.take()
    cutter.reset(15)
    cutter.feed("\n```\n\nThree.\n\n")
    assert [u.text for u in cutter.take()] == ["```\nTwo.\n\n```", "Three."]


def test_a_spoken_turn_is_never_cut_at_paragraphs() -> None:
    with pytest.raises(UsageError, match=r"paragraphs.*spoken=True.*cold start"):
        Cutter(boundaries="paragraphs", spoken=True)


def test_a_turn_is_spoken_unless_said_otherwise() -> None:
    with pytest.raises(UsageError, match="spoken=True"):
        Cutter(boundaries="paragraphs")


def test_an_unknown_boundary_rule_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'sentences'.*'tools' and 'paragraphs'"):
        Cutter(boundaries="sentences")  # type: ignore[arg-type]


def test_blank_lines_end_no_unit_of_a_spoken_turn() -> None:
    assert [u.text for u in cut("One. Two.\n\nThree.\n\n")] == ["One. Two.\n\nThree."]


def test_spans_of_a_reply_touch_from_its_start_to_its_end(streamed: Cutter) -> None:
    spans = streamed.spans()
    assert (spans[0].start, spans[-1].end) == (0, streamed.length)
    assert all(before.end == after.start for before, after in pairwise(spans))
