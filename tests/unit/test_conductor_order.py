"""One unit, one request; units sound in order, without a gap, and whatever becomes of one, the next follows.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from onetake import UsageError
from onetake.conductor import Conductor
from onetake.cues import Play, Silence, Synthesise, Token, UnitChanged
from tests.unit.promises import ENDS
from tests.unit.stage import Stage

# -- what is asked for, and when -----------------------------------------------------------------


def test_whole_reply_is_one_request() -> None:
    """Rows 64 and 65."""
    stage = Stage()
    for character in "One. Two. Three.":
        stage.write(character)
    stage.end()
    assert stage.asked == ["One. Two. Three."]


def test_text_before_a_tool_call_is_asked_for_at_the_call() -> None:
    """Rows 54 and 56."""
    stage = Stage()
    stage.write("ok")
    stage.tool_call()
    assert stage.asked == ["ok"]


def test_text_that_is_still_written_is_not_asked_for() -> None:
    stage = Stage()
    stage.write("One. Two.\n\nThree.")
    assert stage.asked == []


def test_lost_connection_does_not_close_the_trailing_unit() -> None:
    """Row 35: reconnecting is not the end of the reply."""
    stage = Stage().reply("One.", final=False)
    stage.write("Two")
    stage.break_off()
    stage.settle()
    assert stage.sound == [("One.", 0.5)]


def test_reply_with_two_tool_calls_is_three_units_in_order() -> None:
    """Rows 53 and 55."""
    stage = Stage().reply("One. ", "Two. ", "Three.")
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Two.", 0.5), ("Three.", 0.5)]
    units = [entry.unit for entry in stage.conductor.entries]
    assert [(unit.start, unit.end) for unit in units] == [(0, 5), (5, 10), (10, 16)]


def test_last_words_before_a_tool_call_are_not_glued_to_what_follows() -> None:
    """Row 59."""
    stage = Stage(concurrency=2).reply("one.", "two")
    stage.settle()
    assert stage.asked == ["one.", "two"]


def test_call_and_result_close_a_unit_once() -> None:
    """Row 38."""
    stage = Stage()
    stage.write("One.")
    stage.tool_call()
    stage.tool_call()
    stage.end()
    assert stage.asked == ["One."]


def test_next_unit_waits_while_the_one_before_is_fetched() -> None:
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.answer(0)
    stage.audio(0, 1.0)
    assert stage.asked == ["One."]


def test_next_unit_is_asked_for_once_the_one_before_is_fetched() -> None:
    """Row 73."""
    stage = Stage(concurrency=1).reply("One.", "Two.")
    assert Synthesise(Token(1, 1, 1), "Two.") in stage.complete(0, 1.0)


def test_next_unit_is_asked_for_once_the_one_before_sounds() -> None:
    """Row 73."""
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.audio(0, 1.0)
    assert Synthesise(Token(1, 1, 1), "Two.") in stage.started(0)


def test_unit_that_closes_while_the_one_before_sounds_is_asked_for_at_once() -> None:
    """Row 73."""
    stage = Stage().reply("One.", final=False)
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.write("Two.")
    stage.end()
    assert stage.asked == ["One.", "Two."]


def test_one_request_at_a_time_is_kept_even_while_the_first_unit_sounds() -> None:
    """Row 66."""
    stage = Stage(concurrency=1).reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    assert stage.asked == ["One."]


def test_two_requests_at_a_time_are_kept() -> None:
    """Row 66."""
    stage = Stage(concurrency=2).reply("One.", "Two.", "Three.", "Four.")
    stage.audio(0, 1.0)
    stage.started(0)
    assert stage.asked == ["One.", "Two."]
    stage.complete(0)
    assert stage.asked == ["One.", "Two."]
    stage.complete(1, 1.0)
    assert stage.asked == ["One.", "Two.", "Three."]


def test_third_unit_waits_for_the_second_however_many_requests_are_free() -> None:
    stage = Stage(concurrency=3).reply("One.", "Two.", "Three.")
    stage.audio(0, 1.0)
    stage.started(0)
    assert stage.asked == ["One.", "Two."]


def test_engine_without_room_for_one_request_is_refused() -> None:
    with pytest.raises(UsageError, match=r"concurrency is 0.*pass 1 or more"):
        Conductor(concurrency=0)


def test_each_unit_asked_for_is_counted_once() -> None:
    stage = Stage(concurrency=2).reply("One.", "Two.", "Three.")
    stage.fail(0)
    stage.settle()
    assert stage.conductor.syntheses == 3


def test_text_goes_to_the_engine_as_written() -> None:
    stage = Stage().reply(" [softly] 3 × 3 mm 'a'\n\n**b** ")
    assert stage.asked == ["[softly] 3 × 3 mm 'a'\n\n**b**"]


# -- order and seams -----------------------------------------------------------------------------


def test_take_that_is_ready_first_waits_for_the_one_before() -> None:
    """Row 60."""
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play()
    stage.complete(1, 1.0)
    stage.play()
    assert stage.sound == [("One.", 1.0)]
    stage.complete(0, 2.0)
    stage.play()
    assert stage.sound == [("One.", 2.0), ("Two.", 1.0)]


def test_take_is_placed_before_its_first_byte_so_that_it_sounds_as_it_streams() -> None:
    stage = Stage().reply("One.")
    assert stage.placed(0) == (1, 0, 1)


def test_next_take_is_placed_before_the_first_ends_so_that_there_is_no_gap() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    assert stage.placed(1) == (1, 1, 1)


def test_next_take_is_not_placed_while_the_first_may_still_grow() -> None:
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.audio(0, 1.0)
    effects = stage.started(0)
    assert not any(isinstance(effect, Play) for effect in effects)
    stage.complete(1, 1.0)
    assert [performance.token.unit for performance in stage.timeline] == [0]


def test_many_takes_that_are_ready_sound_one_after_the_other() -> None:
    stage = Stage().reply("1.", "2.", "3.", "4.", "5.")
    for unit in range(5):
        stage.complete(unit, 0.25)
    stage.play()
    assert [text for text, _ in stage.sound] == ["1.", "2.", "3.", "4.", "5."]


def test_reading_never_blocks_the_fetching_of_what_follows_a_tool() -> None:
    """Row 58: a long first unit, and the tool answers early."""
    stage = Stage().reply("A long acknowledgement.", final=False)
    stage.complete(0, 64.0)
    stage.play(1.0)
    stage.write("Found it.")
    stage.end()
    stage.complete(1, 1.0)
    assert stage.states == ["playing", "synthesising"]
    stage.play()
    assert stage.sound == [("A long acknowledgement.", 64.0), ("Found it.", 1.0)]


def test_short_opener_that_ends_early_does_not_lose_the_next_unit() -> None:
    """Row 73: there is a gap, and it is heard on."""
    stage = Stage().reply("Hm.", "Found it.")
    stage.complete(0, 0.25)
    stage.play()
    assert stage.state == "listening"
    stage.audio(1, 1.0)
    stage.play()
    assert stage.sound == [("Hm.", 0.25), ("Found it.", 1.0)]


def test_start_report_before_the_end_report_of_the_unit_before_ends_that_one_first() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.complete(1, 1.0)
    stage.started(1)
    assert stage.states == ["done", "playing"]
    stage.ended(0)
    assert stage.stale == 1


def test_end_report_before_those_of_the_units_before_ends_them_in_order() -> None:
    stage = Stage().reply("One.", "Two.", "Three.")
    for unit in range(3):
        stage.complete(unit, 1.0)
    effects = stage.ended(2)
    assert stage.states == ["done", "done", "done"]
    changes = [(effect.unit, effect.state) for effect in effects if isinstance(effect, UnitChanged)]
    assert changes == [(unit, state) for unit in range(3) for state in ("playing", "done")]


def test_end_report_without_a_start_report_ends_the_unit() -> None:
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.ended(0)
    assert (stage.states, stage.heard) == (["done"], 4)


def test_end_report_of_a_take_that_may_still_grow_is_passed_over() -> None:
    """Row 17: a buffer that ran dry is not the end."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play()
    stage.ended(0)
    assert (stage.states, stage.stale) == (["playing"], 1)


def test_start_report_of_a_take_without_audio_is_passed_over() -> None:
    stage = Stage().reply("One.")
    stage.started(0)
    assert (stage.states, stage.stale) == (["synthesising"], 1)


def test_position_of_a_take_that_has_not_started_is_passed_over() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.position(0, 0.5)
    assert (stage.heard, stage.stale) == (0, 1)


@pytest.mark.parametrize("unit", [-1, 1, 7], ids=["unit_minus_1", "unit_1_of_1", "unit_7_of_1"])
def test_token_of_a_unit_that_is_not_there_is_counted(unit: int) -> None:
    for stage in (Stage(), Stage().reply("One.")):
        stage.audio(Token(1, unit, 1), 1.0)
        stage.started(Token(1, unit, 1))
        assert stage.stale == 2


# -- failures ------------------------------------------------------------------------------------


def test_failed_unit_is_shown_and_the_queue_moves_on() -> None:
    """Rows 5 and 62."""
    stage = Stage().reply("One.", "Two.")
    assert UnitChanged(1, 0, "failed", "engine_failed", "out of breath") in stage.fail(0)
    stage.settle()
    assert (stage.states, stage.sound) == (["failed", "done"], [("Two.", 0.5)])


def test_failed_unit_in_the_middle_leaves_no_gap() -> None:
    """Row 62."""
    stage = Stage(concurrency=3).reply("One.", "Two.", "Three.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.fail(1)
    stage.complete(2, 1.0)
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Three.", 1.0)]


def test_last_unit_that_fails_leaves_nothing_speaking() -> None:
    """Row 5: the sign of speech does not stay."""
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.fail(1)
    assert stage.state == "idle"


def test_reply_whose_units_all_fail_ends() -> None:
    stage = Stage().reply("One.", "Two.", "Three.")
    for unit in range(3):
        stage.fail(unit)
    assert (stage.states, stage.state) == (["failed"] * 3, "idle")


def test_failed_unit_is_never_asked_for_again() -> None:
    """Row 91: and never retried by splitting it."""
    stage = Stage().reply("One. Two.")
    stage.fail(0)
    stage.settle()
    assert stage.asked == ["One. Two."]


def test_failure_of_a_request_makes_room_for_the_next() -> None:
    """Row 62."""
    stage = Stage(concurrency=1).reply("One.", "Two.")
    stage.fail(0)
    assert stage.asked == ["One.", "Two."]


def test_failure_is_no_reason_to_silence_what_sounds() -> None:
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    assert Silence() not in stage.fail(1)
    stage.complete(0)
    stage.play()
    assert stage.sound == [("One.", 1.0)]


def test_failure_in_the_middle_of_a_take_is_told_at_once_and_what_came_is_played() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    assert stage.fail(0) == [UnitChanged(1, 0, "playing", "engine_failed", "out of breath")]
    stage.play()
    assert (stage.sound, stage.states) == ([("One.", 1.0)], ["failed"])


def test_failure_after_all_that_came_has_sounded_ends_the_unit() -> None:
    """Row 17: the last block, and no end marker."""
    stage = Stage().reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play()
    stage.fail(0)
    stage.play()
    assert stage.states == ["failed", "synthesising"]


def test_failure_of_a_take_that_waits_behind_another_is_heard_out_in_its_turn() -> None:
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.audio(1, 0.5)
    stage.fail(1)
    stage.complete(0)
    stage.play()
    assert (stage.sound, stage.states) == ([("One.", 1.0), ("Two.", 0.5)], ["done", "failed"])


def test_failed_request_is_not_answered_later() -> None:
    stage = Stage().reply("One.")
    stage.fail(0)
    stage.audio(0, 1.0)
    stage.complete(0, 1.0)
    assert (stage.states, stage.stale) == (["failed"], 2)


# -- nothing to hear -----------------------------------------------------------------------------


def test_empty_take_is_done_and_the_queue_moves_on() -> None:
    """Row 51."""
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 0.0)
    assert stage.states == ["done", "synthesising"]
    stage.settle()
    assert stage.sound == [("Two.", 0.5)]


def test_empty_take_behind_one_that_sounds_is_passed_over() -> None:
    stage = Stage().reply("One.", "Two.", "Three.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.complete(1, 0.0)
    stage.complete(2, 1.0)
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Three.", 1.0)]


def test_unit_with_nothing_for_this_engine_is_done_without_a_request() -> None:
    """Rows 51 and 52: an audio tag alone, for an engine that would read it aloud."""
    stage = Stage(audio_tags=False).reply("[softly]")
    assert (stage.states, stage.asked, stage.state) == (["done"], [], "idle")


def test_unit_with_nothing_for_this_engine_does_not_hold_up_its_neighbours() -> None:
    stage = Stage(audio_tags=False).reply("One.", "[softly]", "Two.")
    stage.settle()
    assert (stage.sound, stage.asked) == ([("One.", 0.5), ("Two.", 0.5)], ["One.", "Two."])


def test_reply_of_cards_alone_is_silent_and_ends() -> None:
    """Row 51."""
    stage = Stage().reply("```card\n{}\n```\n", "[emotion:joy]")
    assert (stage.states, stage.asked, stage.state) == ([], [], "idle")


# -- every unit ends -----------------------------------------------------------------------------

FATES: dict[str, Callable[[Stage, int], object]] = {
    "plays_out": lambda stage, unit: (stage.audio(unit, 0.5), stage.complete(unit)),
    "is_empty": lambda stage, unit: stage.complete(unit, 0.0),
    "fails_at_once": lambda stage, unit: stage.fail(unit),
    "fails_half_way": lambda stage, unit: (stage.audio(unit, 0.5), stage.fail(unit)),
}


@pytest.mark.parametrize(
    ("first", "second"), list(product(FATES, FATES)), ids=[f"{a}_then_{b}" for a, b in product(FATES, FATES)]
)
def test_every_unit_ends_when_the_first(first: str, second: str) -> None:
    """Row 63."""
    stage = Stage(concurrency=2).reply("One.", "Two.", "Three.")
    FATES[first](stage, 0)
    stage.play(0.25)
    FATES[second](stage, 1)
    stage.settle()
    assert set(stage.states) <= ENDS
    assert stage.state == "idle"
    assert [text for text, _ in stage.sound if text == "Three."] == ["Three."]


def test_events_told_again_to_another_conductor_have_the_same_effects() -> None:
    """What a trace is good for."""
    stage = Stage(concurrency=2).reply("One.", "Two.", "Three.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.skip()
    stage.reset(at=4)
    with pytest.raises(UsageError):
        stage.replay(9)
    stage.reply("New.")
    stage.settle()
    stage.assert_repeats()
