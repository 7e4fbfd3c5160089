"""The state that is shown: idle, listening, speaking, paused, blocked or failed.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

from onetake import cues
from tests.unit.stage import Stage


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


def test_state_is_listening_while_a_lost_reply_is_sought_again() -> None:
    stage = Stage()
    stage.write("One")
    stage.break_off()
    assert stage.state == "failed"
    stage.handle(cues.ReplyResumed())
    assert stage.state == "listening"
    stage.break_off()
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
