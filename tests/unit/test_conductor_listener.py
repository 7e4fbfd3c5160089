"""What the listener does, and what the browser lets them hear: pause, skip, replay, and the state that is shown.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

import pytest

from onetake import UsageError
from onetake.cues import AbortSynthesis, Hold, Play, Proceed, Silence, Synthesise, Token
from tests.unit.stage import Stage

# -- pause ---------------------------------------------------------------------------------------


def test_pause_holds_and_resume_goes_on_at_the_same_sample() -> None:
    """Row 30."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    assert stage.pause() == [Hold()]
    stage.play(8.0)
    assert stage.sound == [("One.", 0.5)]
    assert stage.resume() == [Proceed()]
    stage.play()
    assert stage.sound == [("One.", 1.0)]


def test_pause_before_the_first_block_keeps_the_unit() -> None:
    """Row 96a: a short noise must not drop the reply."""
    stage = Stage().reply("One.")
    stage.pause()
    stage.complete(0, 1.0)
    stage.play()
    assert (stage.sound, stage.state) == ([], "paused")
    stage.resume()
    stage.play()
    assert stage.sound == [("One.", 1.0)]


def test_pause_before_the_first_unit_keeps_the_reply() -> None:
    """Row 96a."""
    stage = Stage()
    stage.pause()
    stage.reply("One.")
    assert stage.state == "paused"
    stage.settle()
    assert stage.sound == [("One.", 0.5)]


def test_pause_between_two_units_holds_the_second() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.pause()
    stage.complete(1, 1.0)
    stage.play()
    assert stage.sound == [("One.", 1.0)]
    stage.settle()
    assert stage.sound == [("One.", 1.0), ("Two.", 1.0)]


def test_pause_does_not_hold_up_the_fetching() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.pause()
    stage.complete(0, 1.0)
    assert stage.asked == ["One.", "Two."]


def test_pause_twice_holds_once() -> None:
    stage = Stage().reply("One.")
    stage.pause()
    assert stage.pause() == []


def test_resume_without_a_pause_does_nothing() -> None:
    stage = Stage().reply("One.")
    assert stage.resume() == []


def test_end_report_that_was_on_its_way_ends_a_unit_while_paused() -> None:
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(tell=False)
    stage.pause()
    stage.tell()
    assert (stage.states, stage.state) == (["done"], "idle")


# -- skip ----------------------------------------------------------------------------------------


def test_skip_leaves_what_sounds_and_goes_on_with_the_next() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.complete(1, 1.0)
    stage.skip()
    stage.play()
    assert stage.sound == [("One.", 0.5), ("Two.", 1.0)]
    assert stage.states == ["dropped", "done"]


def test_skip_aborts_the_rest_of_the_take() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    assert AbortSynthesis(stage.asked_for(0)) in stage.skip()
    assert stage.asked == ["One.", "Two."]


def test_skip_before_the_first_byte_leaves_the_unit_that_is_next_to_sound() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.skip()
    stage.settle()
    assert stage.sound == [("Two.", 0.5)]


def test_skip_of_a_unit_that_waits_for_its_request_leaves_that_unit() -> None:
    """The one request is still busy with a later unit, after the listener went back."""
    stage = Stage(concurrency=1).reply("One.", "Two.", final=False)
    stage.stop()
    stage.reset(at=8)
    stage.write("Three.")
    stage.end()
    stage.replay(0)
    assert stage.states == ["queued", "dropped", "synthesising"]
    stage.skip()
    stage.settle()
    assert (stage.states, stage.sound) == (["dropped", "dropped", "done"], [("Three.", 0.5)])


def test_skip_between_units_does_nothing() -> None:
    stage = Stage().reply("One.", final=False)
    stage.settle()
    assert stage.skip() == []
    stage.write("Two.")
    stage.end()
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Two.", 0.5)]


def test_skip_of_the_last_unit_ends_the_reply() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.skip()
    assert stage.state == "idle"


def test_skip_twice_leaves_two_units() -> None:
    """Row 11: two, and not three."""
    stage = Stage().reply("One.", "Two.", "Three.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.complete(1, 1.0)
    stage.skip()
    stage.skip()
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Three.", 0.5)]


def test_skip_while_paused_stays_paused_at_the_next_unit() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.pause()
    assert Proceed() not in stage.skip()
    stage.complete(1, 1.0)
    stage.play()
    assert stage.sound == [("One.", 0.5)]
    stage.resume()
    stage.play()
    assert stage.sound == [("One.", 0.5), ("Two.", 1.0)]


def test_unit_that_was_ready_behind_a_skipped_one_is_placed_anew() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    before = stage.placed(1)
    stage.skip()
    assert stage.placed(1) == before._replace(attempt=2)
    stage.started(before)
    assert stage.stale == 1


def test_audio_of_a_skipped_unit_is_counted_and_never_played() -> None:
    """Row 12."""
    stage = Stage().reply("One.", "Two.")
    stage.skip()
    stage.audio(0, 1.0)
    stage.settle()
    assert (stage.sound, stage.stale) == ([("Two.", 0.5)], 1)


# -- replay --------------------------------------------------------------------------------------


def played() -> Stage:
    """A reply of three units that has played out."""
    stage = Stage().reply("One.", "Two.", "Three.")
    for unit in range(3):
        stage.complete(unit, 1.0)
    stage.play()
    stage._sounded.clear()
    return stage


def test_replay_sounds_a_unit_again_without_asking_for_it_again() -> None:
    stage = played()
    stage.replay(1)
    stage.play()
    assert (stage.sound, len(stage.asked)) == ([("Two.", 1.0)], 3)
    assert stage.states == ["done", "done", "done"]


def test_replay_interrupts_and_then_goes_on_with_what_it_interrupted() -> None:
    stage = Stage().reply("One.", "Two.", "Three.")
    for unit in range(3):
        stage.complete(unit, 1.0)
    stage.play(1.5)
    stage.replay(0)
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Two.", 0.5), ("One.", 1.0), ("Two.", 1.0), ("Three.", 1.0)]


def test_replay_of_what_sounds_starts_it_again() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.replay(0)
    stage.complete(0, 2.0)
    stage.play()
    assert (stage.sound, stage.stale) == ([("One.", 0.5), ("One.", 2.0)], 0)


def test_replay_of_a_unit_that_has_yet_to_sound_changes_nothing() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    assert stage.replay(1) == []
    stage.settle()
    assert stage.sound == [("One.", 1.0), ("Two.", 0.5)]


def test_replay_of_a_later_unit_leaves_the_earlier_replay() -> None:
    """They asked for unit 2, so unit 0 is not read to them first."""
    stage = played()
    stage.replay(0)
    stage.play(0.5)
    stage.replay(2)
    stage.play()
    assert stage.sound == [("One.", 0.5), ("Three.", 1.0)]


def test_replay_right_after_a_replay_sounds_the_second_alone() -> None:
    stage = played()
    stage.replay(0)
    stage.replay(1)
    stage.play()
    assert stage.sound == [("Two.", 1.0)]


def test_replay_of_an_earlier_unit_during_a_replay_sounds_both() -> None:
    stage = played()
    stage.replay(2)
    stage.play(0.5)
    stage.replay(0)
    stage.play()
    assert stage.sound == [("Three.", 0.5), ("One.", 1.0), ("Three.", 1.0)]


def test_replay_ends_a_pause() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.pause()
    assert Proceed() in stage.replay(0)
    stage.play()
    assert stage.sound == [("One.", 1.0), ("One.", 1.0)]


def test_replay_silences_before_it_lets_a_held_clock_run() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.audio(1, 1.0)
    stage.play(0.5)
    stage.pause()
    effects = stage.replay(0)
    assert effects.index(Silence()) < effects.index(Proceed())


def test_replay_after_a_stop_sounds_that_unit_alone() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.stop()
    stage.replay(0)
    stage.settle()
    assert (stage.sound, stage.states) == ([("One.", 0.5), ("One.", 1.0)], ["done", "dropped"])


def test_replay_after_a_stop_does_not_take_the_stop_back() -> None:
    stage = Stage()
    stage.write("One.")
    stage.tool_call()
    stage.complete(0, 1.0)
    stage.stop()
    stage.replay(0)
    stage.write("Two.")
    stage.end()
    stage.settle()
    assert stage.sound == [("One.", 1.0)]


def test_replay_of_a_unit_that_was_never_asked_for_asks_once() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.stop()
    assert Synthesise(Token(1, 1, 2), "Two.") in stage.replay(1)
    stage.settle()
    stage.replay(1)
    stage.settle()
    assert (stage.sound, stage.asked) == ([("Two.", 0.5), ("Two.", 0.5)], ["One.", "Two."])


def test_replay_of_a_part_plays_what_is_here_and_is_not_done() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.stop()
    stage.replay(0)
    stage.play()
    assert (stage.sound, stage.states) == ([("One.", 1.0)], ["dropped"])


def test_replay_of_a_failed_unit_plays_what_is_here_and_stays_failed() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.fail(0)
    stage.play()
    stage.replay(0)
    stage.play()
    assert (stage.sound, stage.states) == ([("One.", 1.0), ("One.", 1.0)], ["failed"])


def test_replay_while_a_later_unit_is_fetched_goes_on_fetching_it() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.audio(1, 0.5)
    stage.play(0.25)
    stage.replay(0)
    stage.complete(1, 2.0)
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Two.", 0.25), ("One.", 1.0), ("Two.", 2.0)]


def test_skip_during_a_replay_goes_on_with_what_was_interrupted() -> None:
    stage = Stage().reply("One.", "Two.")
    for unit in range(2):
        stage.complete(unit, 1.0)
    stage.play(1.5)
    stage.replay(0)
    stage.play(0.5)
    stage.skip()
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Two.", 0.5), ("One.", 0.5), ("Two.", 1.0)]


def test_stop_during_a_replay_silences_it_and_what_waits() -> None:
    stage = Stage().reply("One.", "Two.")
    for unit in range(2):
        stage.complete(unit, 1.0)
    stage.play(1.5)
    stage.replay(0)
    stage.play(0.5)
    stage.stop()
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Two.", 0.5), ("One.", 0.5)]
    assert stage.state == "idle"


def test_reset_during_a_replay_silences_it() -> None:
    stage = played()
    stage.replay(1)
    stage.play(0.5)
    stage.reset()
    stage.reply("New.")
    stage.settle()
    assert stage.sound == [("Two.", 0.5), ("New.", 0.5)]


def test_end_report_of_the_first_performance_does_not_end_the_replay() -> None:
    """Row 10."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    first = stage.placed(0)
    stage.replay(0)
    stage.play(0.25)
    stage.ended(first)
    assert (stage.states, stage.stale) == (["playing"], 1)


def test_replay_places_a_new_performance_of_the_same_take() -> None:
    stage = played()
    assert Play(Token(1, 0, 2), Token(1, 0, 1)) in stage.replay(0)


def test_played_seconds_count_from_the_start_of_the_replay() -> None:
    stage = played()
    stage.replay(0)
    stage.play(0.25)
    assert stage.conductor.entries[0].played_s == 0.25


@pytest.mark.parametrize("unit", [-1, 3], ids=["before_the_first", "behind_the_last"])
def test_replay_of_a_unit_that_is_not_there_is_refused(unit: int) -> None:
    with pytest.raises(UsageError, match=f"no unit {unit} to replay: this reply has 3 so far, from 0"):
        played().replay(unit)


def test_replay_of_a_unit_whose_audio_never_came_is_refused() -> None:
    stage = Stage().reply("One.")
    stage.fail(0)
    with pytest.raises(UsageError, match="unit 0 has no audio to replay.*regenerate the reply"):
        stage.replay(0)


def test_replay_of_a_unit_with_nothing_to_say_is_refused() -> None:
    stage = Stage(audio_tags=False).reply("[softly]")
    with pytest.raises(UsageError, match="unit 0 has nothing to say"):
        stage.replay(0)


def test_replay_that_is_refused_changes_nothing() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.fail(0)
    stage.complete(1, 1.0)
    stage.play(0.5)
    with pytest.raises(UsageError):
        stage.replay(0)
    stage.play()
    assert (stage.sound, stage.states) == ([("Two.", 1.0)], ["failed", "done"])


# -- the browser holds audio back ----------------------------------------------------------------


def test_blocked_audio_is_lost_in_no_part() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.block()
    stage.complete(0, 1.0)
    stage.complete(1, 1.0)
    stage.play()
    assert (stage.sound, stage.state) == ([], "blocked")
    stage.unblock()
    stage.play()
    assert stage.sound == [("One.", 1.0), ("Two.", 1.0)]


def test_blocked_audio_is_no_reason_to_try_again() -> None:
    stage = Stage().reply("One.")
    assert (stage.block(), stage.block(), stage.unblock()) == ([], [], [])


def test_stop_while_blocked_ends_the_reply() -> None:
    stage = Stage().reply("One.")
    stage.block()
    stage.stop()
    assert stage.state == "idle"


def test_pause_while_blocked_still_holds_when_the_browser_lets_go() -> None:
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.block()
    stage.pause()
    stage.unblock()
    stage.play()
    assert (stage.sound, stage.state) == ([], "paused")


# -- the state that is shown ---------------------------------------------------------------------


def test_state_is_listening_while_the_reply_is_written() -> None:
    stage = Stage()
    assert stage.state == "listening"
    stage.write("One.")
    assert stage.state == "listening"


def test_state_is_listening_until_the_first_sample_sounds() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    assert stage.state == "listening"
    stage.play(0.25)
    assert stage.state == "speaking"


def test_state_is_listening_between_units_while_more_may_come() -> None:
    """Row 35: the reply is not finished because nothing is left to say just now."""
    stage = Stage().reply("One.", final=False)
    stage.settle()
    assert (stage.states, stage.state) == (["done"], "listening")


def test_state_is_speaking_to_the_end_of_the_last_sample() -> None:
    """Rows 17 and 29."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(0.75)
    assert stage.state == "speaking"
    stage.play()
    assert stage.state == "idle"


def test_state_is_idle_after_a_reply_without_a_word() -> None:
    assert Stage().reply("  \n").state == "idle"


def test_state_is_paused_between_units_too() -> None:
    """Else there would be no way to see why the next one does not sound."""
    stage = Stage().reply("One.", final=False)
    stage.settle()
    stage.pause()
    assert stage.state == "paused"


def test_state_is_blocked_only_when_something_is_due() -> None:
    stage = Stage()
    stage.block()
    assert stage.state == "listening"
    stage.reply("One.")
    assert stage.state == "blocked"


def test_state_is_blocked_before_it_is_paused() -> None:
    """The tap is what the listener can do about it."""
    stage = Stage().reply("One.")
    stage.pause()
    stage.block()
    assert stage.state == "blocked"


def test_state_is_failed_once_what_was_closed_is_spoken() -> None:
    stage = Stage().reply("One.", final=False)
    stage.break_off()
    assert stage.state == "listening"
    stage.settle()
    assert (stage.sound, stage.state) == ([("One.", 0.5)], "failed")


def test_state_is_not_failed_when_the_reply_came_to_its_end_after_all() -> None:
    """Row 35: the stream was resumed."""
    stage = Stage()
    stage.break_off()
    stage.reply("One.")
    stage.settle()
    assert stage.state == "idle"


def test_state_is_not_failed_when_the_connection_is_lost_after_the_end() -> None:
    stage = Stage().reply("One.")
    stage.break_off()
    stage.settle()
    assert stage.state == "idle"


def test_state_is_not_failed_when_the_listener_stopped_the_reply_before() -> None:
    stage = Stage()
    stage.write("One.")
    stage.stop()
    stage.break_off()
    assert stage.state == "idle"


def test_state_stays_failed_when_the_listener_stops_what_is_left() -> None:
    stage = Stage().reply("One.", final=False)
    stage.break_off()
    stage.stop()
    assert stage.state == "failed"


def test_state_is_not_failed_after_a_reset() -> None:
    stage = Stage()
    stage.break_off()
    assert stage.state == "failed"
    stage.reset()
    assert stage.state == "listening"


def test_state_is_listening_again_when_a_reset_reopens_a_final_reply() -> None:
    stage = Stage().reply("One.")
    stage.settle()
    stage.reset()
    assert stage.state == "listening"


def test_state_is_idle_after_a_disposal() -> None:
    stage = Stage()
    stage.break_off()
    stage.dispose()
    assert stage.state == "idle"


def test_state_of_a_failed_unit_is_not_that_of_the_reply() -> None:
    stage = Stage().reply("One.")
    stage.fail(0)
    assert (stage.states, stage.state) == (["failed"], "idle")
