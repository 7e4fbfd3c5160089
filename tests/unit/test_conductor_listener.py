"""The listener pauses and skips, and the browser holds audio back: nothing is lost, nothing comes twice.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

from onetake.cues import AbortSynthesis, Hold, Proceed
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
    stage.replay(1)
    assert stage.states == ["dropped", "queued", "synthesising"]
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
