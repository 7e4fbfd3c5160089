"""The rules that all protocols share: where a unit ends, what joins text, what is never said, what is void."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.streams import Delta, Event, Failed, Final, Reset, UnitEnd
from onetake.streams.blocks import InlineBlocks
from onetake.streams.turn import OPEN_LIMIT, REPLY_LIMIT, Malformed, Turn
from tests.unit.telling import judge


def content(events: list[Event]) -> str:
    return judge(events).content


def said(*pieces: str, thoughts: bool = False) -> str:
    """The text of a turn that says these pieces and ends."""
    turn = Turn(thoughts=thoughts)
    for piece in pieces:
        turn.say(piece)
    turn.finish()
    return content(turn.take_events())


def test_a_unit_ends_only_where_something_was_said_since_the_last_end() -> None:
    turn = Turn()
    turn.end_unit()
    turn.say("a")
    turn.end_unit()
    turn.end_unit()
    turn.say("\n\n")
    turn.end_unit()
    turn.say("b")
    turn.end_unit()
    assert turn.take_events() == [Delta("a"), UnitEnd(1), Delta("\n\n"), Delta("b"), UnitEnd(4)]


def test_nothing_counts_after_the_end() -> None:
    turn = Turn()
    turn.finish()
    turn.say("a")
    turn.end_unit()
    turn.finish()
    turn.fail("x", "y")
    assert turn.take_events() == [Final()]


def test_another_message_is_joined_by_a_blank_line_and_only_to_what_was_said() -> None:
    turn = Turn()
    turn.new_message()
    turn.say("a")
    turn.new_message()
    turn.new_message()
    turn.say("b")
    turn.end_unit()
    turn.new_message()
    turn.say("c")
    turn.finish()
    assert content(turn.take_events()) == "a\n\nbc"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["\ud83d", "\ude00"], "😀"),
        (["a\ud83d", "", "\ude00b"], "a😀b"),
        (["\ud83d\ude00"], "😀"),
        (["\ud83d", "a"], "\ufffda"),
        (["\ud83d", "\ud83d", "\ude00"], "\ufffd😀"),
        (["\ude00"], "\ufffd"),
        (["a\ud83d"], "a\ufffd"),
    ],
)
def test_a_surrogate_pair_split_over_pieces_is_one_character_and_half_a_pair_none(
    pieces: list[str], expected: str
) -> None:
    assert said(*pieces) == expected


def test_half_a_pair_does_not_wait_beyond_the_unit() -> None:
    turn = Turn()
    turn.say("a\ud83d")
    turn.end_unit()
    turn.say("\ude00")
    assert turn.take_events() == [Delta("a"), Delta("\ufffd"), UnitEnd(2), Delta("\ufffd")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>Hm.</think>Yes.", "Yes."),
        ("Yes. <think>Hm.</think>No.", "Yes. No."),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("a <think>never closed", "a "),
        ("a <thin", "a <thin"),
        ("1 < 2 <thinking> <think", "1 < 2 <thinking> <think"),
        ("the tag `<think>` opens", "the tag `<think>` opens"),
        ("<think><think></think>a", "a"),
        ("Hm.</think>Yes.", "Yes."),
        ("Hm.\n</think>\n\nYes.</think>No.", "\n\nYes.No."),
        ("Yes. <think>Hm.</think>No.</think>", "Yes. No."),
        ("Yes. <think>Hm.", "Yes. "),
        ("Hm. `</think>` ends it.</think>Yes.", "Yes."),
        ("the tag `</think>` closes", "the tag `</think>` closes"),
    ],
)
def test_inline_thoughts_are_no_part_of_the_text_wherever_it_is_split(text: str, expected: str) -> None:
    assert said(text, thoughts=True) == expected
    assert said(*text, thoughts=True) == expected
    for cut in range(len(text)):
        assert said(text[:cut], text[cut:], thoughts=True) == expected


def test_a_thought_without_its_opening_reaches_back_to_where_its_message_began() -> None:
    """Each response of such a model begins with one, after a tool as at the start; whole units stay."""
    turn = Turn(thoughts=True)
    for _ in range(2):
        for piece in ("Hm", ". </th", "ink>Let me look. "):
            turn.say(piece)
        turn.call("1")
        turn.answer("1")
    turn.say("Found it.")
    turn.new_message()
    turn.say("Well.</think>And more.")
    turn.finish()
    told = judge(turn.take_events())
    assert told.units == ["Let me look. ", "Let me look. ", "Found it.\n\nAnd more."]
    assert told.resets == [0, 13]


def test_a_snapshot_that_is_told_again_with_its_thought_voids_nothing() -> None:
    turn = Turn(thoughts=True)
    turn.say("Hm.</think>Let me look. ")
    turn.end_unit()
    turn.take_events()
    turn.retell()
    turn.say("Hm.</think>Let me look. ")
    turn.end_unit()
    turn.say("Found it.")
    turn.retold()
    assert turn.take_events() == [Delta("Found it.")]


def test_a_thought_left_open_ends_with_the_unit() -> None:
    turn = Turn(thoughts=True)
    turn.say("<think>Hm.")
    turn.end_unit()
    turn.say("Yes.")
    turn.finish()
    assert content(turn.take_events()) == "Yes."


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "think>", "</", "`", "a", "\n"])), st.data())
def test_blocks_are_the_same_in_any_pieces(marks: list[str], data: st.DataObject) -> None:
    text = "".join(marks)
    cut = data.draw(st.integers(0, len(text)))
    assert said(text[:cut], text[cut:], thoughts=True) == said(*text, thoughts=True) == said(text, thoughts=True)


def test_a_line_end_after_a_block_goes_with_it_where_that_is_asked() -> None:
    blocks = InlineBlocks(["<b>"], "</b>", line_end=True)
    stretches = [stretch for piece in ("a<b>x</b>", "\n\nc") for stretch in blocks.feed(piece)]
    assert stretches == [("a", "<b>"), ("", None), ("\nc", None)]


def test_only_a_string_is_text() -> None:
    with pytest.raises(Malformed, match="NoneType"):
        Turn().say(None)


def test_a_reply_without_end_fails() -> None:
    turn = Turn()
    turn.say("x" * REPLY_LIMIT)
    assert not turn.ended
    turn.say("x")
    assert [type(event) for event in turn.take_events()] == [Delta, Failed]


def test_thoughts_without_end_fail() -> None:
    turn = Turn(thoughts=True)
    turn.say("<think>" + "x" * REPLY_LIMIT)
    assert [type(event) for event in turn.take_events()] == [Failed]


def test_calls_without_end_fail() -> None:
    turn = Turn()
    for number in range(OPEN_LIMIT + 1):
        assert not turn.ended
        turn.call(number)
    assert turn.ended


def test_what_was_told_since_a_mark_can_be_void() -> None:
    turn = Turn()
    turn.say("a. ")
    turn.end_unit()
    mark = turn.mark()
    turn.say("b")
    turn.rewind(mark)
    turn.rewind(mark)
    turn.end_unit()
    turn.say("c")
    assert turn.take_events() == [Delta("a. "), UnitEnd(3), Delta("b"), Reset(3), Delta("c")]


def told_again(*pieces: str, complete: bool = True) -> list[Event]:
    """The events of telling "One. ‖Two. ‖Three" again as these pieces, with an end after each but the last."""
    turn = Turn()
    for piece in ("One. ", "Two. "):
        turn.say(piece)
        turn.end_unit()
    turn.say("Three")
    turn.take_events()
    turn.retell()
    for piece in pieces[:-1]:
        turn.say(piece)
        turn.end_unit()
    turn.say(pieces[-1])
    if complete:
        turn.retold()
    return turn.take_events()


def test_a_turn_told_again_as_it_was_says_only_what_is_new() -> None:
    assert told_again("One. ", "Two. ", "Three") == []
    assert told_again("One. ", "Two. ", "Three, four") == [Delta(", four")]


def test_a_turn_told_again_otherwise_is_void_from_the_unit_that_differs() -> None:
    assert told_again("One. ", "Two. ", "Four") == [Reset(10), Delta("Four")]
    assert told_again("One. ", "Twenty. ", "Three") == [Reset(5), Delta("Twenty. "), UnitEnd(13), Delta("Three")]
    assert told_again("Once. ", "Two. ", "x")[:2] == [Reset(0), Delta("Once. ")]


def test_a_turn_told_again_shorter_is_void_beyond_its_end_once_it_is_complete() -> None:
    assert told_again("One. ", "Two", complete=False) == []
    assert told_again("One. ", "Two") == [Reset(5), Delta("Two")]


def test_a_turn_started_over_keeps_its_whole_units_and_voids_the_open_one() -> None:
    turn = Turn()
    turn.say("One. ")
    turn.end_unit()
    turn.say("Tw")
    turn.restart()
    for piece in ("On", "e. "):
        turn.say(piece)
    turn.end_unit()
    turn.say("Two.")
    turn.finish()
    assert turn.take_events() == [Delta("One. "), UnitEnd(5), Delta("Tw"), Reset(5), Delta("Two."), Final()]
