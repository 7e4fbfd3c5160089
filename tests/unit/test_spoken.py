"""The text sent to an engine, and where it stands in the reply."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake import UsageError, for_engine, speakable

DROPPED = [
    pytest.param("It is [softly] fine.", "It is fine.", id="between_words"),
    pytest.param("[softly] Fine.", "Fine.", id="at_the_start"),
    pytest.param("Fine. [sighs]", "Fine.", id="at_the_end"),
    pytest.param("[softly]\n\nFine.", "Fine.", id="on_a_line_of_its_own_at_the_start"),
    pytest.param("[softly]", "", id="nothing_else"),
    pytest.param("a [softly][slowly] b", "a b", id="two_side_by_side"),
    pytest.param("a [softly] [slowly] b", "a b", id="two_with_a_space_between"),
    pytest.param("a\n[softly] b", "a\nb", id="at_the_start_of_a_line"),
    pytest.param("a\n[softly]\nb", "a\n\nb", id="on_a_line_of_its_own"),
    pytest.param("a[softly]b", "ab", id="inside_a_word"),
    pytest.param("a[softly] b", "a b", id="at_the_end_of_a_word"),
    pytest.param("안녕[웃음]하세요", "안녕하세요", id="in_hangul"),
    pytest.param("a [" + "x" * 60 + "] b", "a b", id="of_60_characters"),
    pytest.param("a [soft [very] ly] b", "a b", id="nested_goes_whole"),
    pytest.param("a [b [softly] c", "a [b c", id="behind_an_open_bracket"),
    pytest.param("a] [softly] b", "a] b", id="behind_a_closing_bracket"),
    pytest.param("a [emotion:joy] b", "a b", id="an_emotion_tag_inside"),
    pytest.param("[ ]: a\n[softly] b", "[ ]: a\nb", id="where_empty_brackets_look_like_a_definition"),
    pytest.param("a [softly] (b)", "a (b)", id="before_brackets_with_a_space_between"),
    pytest.param("[softly] a\n```card\n[b]\n```\nb [sighs] [emotion:joy]", "a\nb", id="around_a_card"),
]

KEPT = [
    pytest.param("a [b](c) d", id="a_link"),
    pytest.param("a ![b](c) d", id="a_picture"),
    pytest.param("a [b [c]](d) e", id="a_link_with_brackets_in_it"),
    pytest.param("[a][b] c\n\n[b]: http://d", id="a_reference_link"),
    pytest.param("[B] c\n\n[b]: http://d", id="a_short_reference_link"),
    pytest.param("a [1] b", id="a_number"),
    pytest.param("a [2, 3–5] b", id="numbers"),
    pytest.param("a [^note] b", id="a_footnote"),
    pytest.param("- [ ] a\n- [x] b\n- [X] c", id="check_boxes"),
    pytest.param("a [] b", id="empty"),
    pytest.param("a […] b", id="an_ellipsis"),
    pytest.param("a [soft\nly] b", id="over_two_lines"),
    pytest.param("a [soft\rly] b", id="over_two_lines_cr"),
    pytest.param("a [" + "x" * 61 + "] b", id="over_60_characters"),
    pytest.param("a [softly b", id="left_open"),
]


@pytest.mark.parametrize(("unit", "text"), DROPPED)
def test_audio_tags_are_dropped_for_an_engine_that_would_read_them(unit: str, text: str) -> None:
    assert for_engine(unit, audio_tags=False).text == text


@pytest.mark.parametrize("unit", KEPT)
def test_brackets_that_are_no_audio_tag_stay(unit: str) -> None:
    assert for_engine(unit, audio_tags=False).text == unit


def test_audio_tags_are_sent_as_written_to_an_engine_that_knows_them() -> None:
    assert for_engine(" It is [softly] fine. [emotion:joy]", audio_tags=True).text == "It is [softly] fine."


def test_white_space_that_no_tag_left_stays() -> None:
    assert for_engine("a  b [softly] c  d", audio_tags=False).text == "a  b c  d"


def test_positions_lead_to_the_reply() -> None:
    reply = "Before. 😀 a\n```card\nx\n```\nb [softly] c. [emotion:joy]"
    spoken = for_engine(reply[8:], audio_tags=False, start=8)
    assert spoken.text == "😀 a\nb c."
    assert [spoken.to_reply(i) for i in range(len(spoken.text) + 1)] == [8, 9, 10, 11, 26, 27, 37, 38, 39]
    assert (spoken.start, spoken.end) == (8, len(reply))


def test_a_unit_without_text_stands_at_its_start() -> None:
    spoken = for_engine("[softly]", audio_tags=False, start=5)
    assert (spoken.text, spoken.start, spoken.end, spoken.to_reply(0)) == ("", 5, 13, 5)


@pytest.mark.parametrize("i", [-1, 4])
def test_a_position_outside_the_text_is_refused(i: int) -> None:
    with pytest.raises(UsageError, match=rf"to_reply\({i}\).*3 code points"):
        for_engine("abc", audio_tags=True).to_reply(i)


@pytest.mark.parametrize("unit", [b"a", None])
def test_a_unit_that_is_no_string_is_refused(unit: Any) -> None:
    with pytest.raises(UsageError, match="for_engine"):
        for_engine(unit, audio_tags=True)


UNITS = st.lists(
    st.sampled_from(
        [
            *(
                "[",
                "]",
                "(",
                "[softly]",
                "[b]: c",
                "[1]",
                "[emotion:joy]",
                "\n```card\n",
                "\n```\n",
                "a",
                ".",
                "😀",
            ),
            *(" ", "  ", "\n", "\r\n", "한", "e\u0301", "\ud800", "\x00", "\u2028"),
        ]
    )
    | st.text(max_size=3),
    max_size=30,
).map("".join)


@given(UNITS, st.booleans(), st.integers(0, 1000))
def test_each_code_point_sent_is_the_one_of_the_reply_it_leads_to(
    unit: str, audio_tags: bool, start: int
) -> None:
    spoken = for_engine(unit, audio_tags=audio_tags, start=start)
    for i, character in enumerate(spoken.text):
        assert unit[spoken.to_reply(i) - start] == character


@given(UNITS, st.booleans(), st.integers(0, 1000))
def test_positions_grow_and_stay_in_the_unit_s_range(unit: str, audio_tags: bool, start: int) -> None:
    spoken = for_engine(unit, audio_tags=audio_tags, start=start)
    places = [spoken.to_reply(i) for i in range(len(spoken.text) + 1)]
    assert all(before < after for before, after in pairwise(places))
    assert spoken.start == start <= places[0] <= places[-1] <= spoken.end == start + len(unit)


@given(UNITS)
def test_an_engine_that_knows_tags_gets_what_is_speakable(unit: str) -> None:
    assert for_engine(unit, audio_tags=True).text == speakable(unit)


@given(UNITS)
def test_without_tags_nothing_is_added_and_outer_white_space_goes(unit: str) -> None:
    text = for_engine(unit, audio_tags=False).text
    rest = iter(speakable(unit))
    assert text == text.strip()
    assert all(character in rest for character in text)


@given(st.text(alphabet=st.characters(exclude_characters="[`")))
def test_text_without_brackets_is_sent_whole(unit: str) -> None:
    assert for_engine(unit, audio_tags=False).text == unit.strip()
