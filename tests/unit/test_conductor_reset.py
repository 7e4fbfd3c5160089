"""A reset is two acts: what sounds is silenced, and nothing of the old generation is asked for or heard.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

from onetake import cues
from onetake.cues import AbortSynthesis, Proceed, Silence, UnitChanged, Withdraw
from tests.unit.stage import Stage

# -- a reset from scratch ------------------------------------------------------------------------


def test_reset_silences_before_it_does_anything_else() -> None:
    """Row 2."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    assert stage.reset()[0] == Silence()
    stage.play()
    assert stage.sound == [("One.", 0.5)]


def test_reset_aborts_the_request_under_way() -> None:
    """Row 23."""
    stage = Stage().reply("One.")
    assert AbortSynthesis(stage.asked_for(0)) in stage.reset()


def test_reset_releases_every_discarded_take() -> None:
    """Row 89."""
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.reset()
    assert stage.takes == {}


def test_reset_before_the_first_byte_lets_nothing_of_the_old_text_sound() -> None:
    """Row 6."""
    stage = Stage().reply("One.")
    old = stage.asked_for(0)
    stage.reset()
    stage.answer(old)
    stage.audio(old, 1.0)
    stage.play()
    assert stage.sound == []


def test_audio_of_a_dropped_unit_is_counted_and_never_played() -> None:
    """Rows 7 and 12."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    old = stage.asked_for(0)
    stage.reset()
    stage.audio(old, 2.0)
    assert stage.stale == 1
    stage.play()
    assert stage.sound == []


def test_end_of_a_dropped_take_is_counted_and_ends_nothing() -> None:
    stage = Stage().reply("One.")
    old = stage.asked_for(0)
    stage.reset()
    stage.reply("New.")
    stage.complete(old, 1.0)
    assert (stage.stale, stage.states) == (1, ["synthesising"])


def test_failure_of_a_dropped_take_is_counted_and_not_shown() -> None:
    """Rows 8 and 13."""
    stage = Stage().reply("One.")
    old = stage.asked_for(0)
    stage.reset()
    stage.reply("New.")
    assert stage.fail(old) == []
    assert (stage.stale, stage.conductor.entries[0].error) == (1, None)


def test_alignment_of_a_dropped_take_moves_nothing() -> None:
    stage = Stage().reply("One.")
    old = stage.asked_for(0)
    stage.reset()
    stage.reply("New text.")
    stage.align(old, "New text.", *(0.0625 * n for n in range(10)))
    stage.audio(0, 4.0)
    stage.play(0.5)
    assert stage.heard < 8


def test_start_report_of_a_silenced_take_starts_nothing() -> None:
    """Row 14."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5, tell=False)
    stage.reset()
    stage.reply("New.")
    stage.tell()
    assert (stage.stale, stage.states) == (2, ["synthesising"])


def test_end_report_of_a_silenced_take_ends_nothing() -> None:
    """Rows 10 and 11."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.play(tell=False)
    stage.reset()
    stage.reply("New.", "Next.")
    stage.tell()
    assert stage.states == ["synthesising", "queued"]


def test_position_of_a_silenced_take_is_not_heard() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    old = stage.placed(0)
    stage.reset()
    stage.position(old, 1.0)
    assert (stage.stale, stage.heard) == (1, 0)


def test_new_generation_sounds_without_waiting_for_anything() -> None:
    """Row 22."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.reset()
    stage.reply("New.")
    stage.audio(0, 0.5)
    stage.play()
    assert stage.sound == [("One.", 0.5), ("New.", 0.5)]


def test_slow_take_of_the_previous_text_is_not_played_for_the_new_one() -> None:
    """Row 19."""
    stage = Stage().reply("One.")
    slow = stage.asked_for(0)
    stage.reset()
    stage.reply("New.")
    stage.complete(slow, 4.0)
    stage.complete(0, 0.5)
    stage.play()
    assert stage.sound == [("New.", 0.5)]


def test_old_take_that_ends_late_does_not_free_a_second_request() -> None:
    """Row 8: the older call's `finally` must not touch the newer one."""
    stage = Stage(concurrency=1).reply("One.")
    old = stage.asked_for(0)
    stage.reset()
    stage.reply("New.", "Next.")
    stage.complete(old, 1.0)
    assert stage.asked == ["One.", "New."]


def test_aborted_request_makes_room_for_the_next_at_once() -> None:
    """Row 26."""
    stage = Stage(concurrency=1).reply("One.")
    stage.reset()
    stage.reply("New.")
    assert stage.asked == ["One.", "New."]


def test_unit_of_the_old_generation_closed_late_is_passed_over() -> None:
    """Row 14."""
    stage = Stage().reply("One.")
    closed = stage.history[0][0]
    stage.reset()
    stage.handle(closed)
    assert (stage.stale, stage.asked) == (1, ["One."])


def test_same_words_in_both_generations_are_told_apart() -> None:
    """Row 31: sameness is generation and index, never text."""
    stage = Stage().reply("Yes.")
    old = stage.asked_for(0)
    stage.reset()
    stage.reply("Yes.")
    stage.audio(old, 1.0)
    assert (stage.asked, stage.conductor.entries[0].received_s) == (["Yes.", "Yes."], 0.0)


def test_reset_told_twice_counts_the_second() -> None:
    stage = Stage().reply("One.")
    reset = cues.Reset(2)
    stage.handle(reset)
    assert stage.handle(reset) == []
    assert (stage.stale, stage.conductor.generation) == (1, 2)


def test_reset_to_an_older_generation_is_passed_over() -> None:
    stage = Stage()
    stage.handle(cues.Reset(5))
    stage.handle(cues.Reset(4))
    assert (stage.stale, stage.conductor.generation) == (1, 5)


def test_reset_after_a_reset_silences_the_generation_between() -> None:
    stage = Stage().reply("One.")
    stage.reset()
    stage.reply("Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.reset()
    stage.reply("Three.")
    stage.settle()
    assert stage.sound == [("Two.", 0.5), ("Three.", 0.5)]


def test_reset_of_nothing_is_harmless() -> None:
    stage = Stage()
    assert stage.reset() == [Silence()]
    assert (stage.state, stage.stale) == ("listening", 0)


def test_reset_ends_a_pause() -> None:
    stage = Stage().reply("One.")
    stage.pause()
    assert Proceed() in stage.reset()
    stage.reply("New.")
    stage.audio(0, 0.5)
    stage.play()
    assert stage.sound == [("New.", 0.5)]


def test_reset_ends_a_stop() -> None:
    """Row 8a: the voice that was stopped can read again."""
    stage = Stage().reply("One.")
    stage.stop()
    stage.reset()
    stage.reply("New.")
    stage.settle()
    assert stage.sound == [("New.", 0.5)]


def test_reset_leaves_audio_that_the_browser_holds_back_blocked() -> None:
    stage = Stage().reply("One.")
    stage.block()
    stage.reset()
    stage.reply("New.")
    assert stage.state == "blocked"


def test_reset_forgets_what_was_heard() -> None:
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play()
    assert stage.heard == 4
    stage.reset()
    assert stage.heard == 0


# -- a reset in the middle -----------------------------------------------------------------------


def test_kept_unit_goes_on_sounding_without_a_seam() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    assert Silence() not in stage.reset(at=4)
    stage.play()
    assert stage.sound == [("One.", 1.0)]


def test_unit_behind_a_kept_one_is_withdrawn_and_never_sounds() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.audio(1, 1.0)
    assert Withdraw(stage.placed(1)) in stage.reset(at=4)
    stage.settle()
    assert stage.sound == [("One.", 1.0)]


def test_units_are_withdrawn_from_the_back_so_that_none_moves_up() -> None:
    stage = Stage().reply("One.", "Two.", "Three.")
    for unit in range(3):
        stage.complete(unit, 1.0)
    effects = stage.reset(at=4)
    assert [effect.token.unit for effect in effects if isinstance(effect, Withdraw)] == [2, 1]


def test_kept_unit_is_not_asked_for_again() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.reset(at=4)
    stage.reply("New.")
    stage.settle()
    assert stage.asked == ["One.", "New."]
    assert stage.sound == [("One.", 0.5), ("New.", 0.5)]


def test_kept_unit_goes_on_receiving_under_its_old_token() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.audio(0, 0.5)
    stage.play()
    stage.reset(at=4)
    stage.complete(0, 2.0)
    stage.play()
    assert (stage.stale, stage.sound, stage.states) == (0, [("One.", 2.0)], ["done"])


def test_kept_unit_that_waits_is_asked_for_in_the_new_generation() -> None:
    stage = Stage().reply("One.", "Two.", "Three.")
    stage.reset(at=8)
    stage.complete(0, 0.5)
    assert stage.asked_for(1) == (2, 1, 1)
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Two.", 0.5)]


def test_kept_unit_is_placed_in_the_new_generation_if_it_was_not_before() -> None:
    stage = Stage(concurrency=2).reply("One.", "Two.", "Three.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.complete(1, 1.0)
    stage.reset(at=8)
    stage.complete(0, 1.0)
    assert stage.placed(1) == (2, 1, 1)


def test_kept_unit_whose_start_is_not_told_yet_does_not_start_again() -> None:
    """The report of the first sample may be on its way when the reset comes."""
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5, tell=False)
    stage.reset(at=4)
    stage.tell()
    stage.play()
    assert (stage.sound, stage.stale) == ([("One.", 1.0)], 0)


def test_unit_that_ends_where_the_reset_is_is_kept() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.reset(at=4)
    assert stage.states == ["synthesising"]


def test_unit_that_ends_right_behind_the_reset_is_dropped() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.reset(at=3)
    assert stage.states == []


def test_reset_inside_the_unit_that_sounds_silences_it() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.complete(1, 1.0)
    stage.play(0.5)
    assert stage.reset(at=6)[0] == Silence()
    stage.settle()
    assert stage.sound == [("One.", 1.0), ("Two.", 0.5)]


def test_numbering_goes_on_after_the_kept_units() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.reset(at=4)
    stage.reply("New.")
    units = [entry.unit for entry in stage.conductor.entries]
    assert [(unit.generation, unit.index) for unit in units] == [(2, 0), (2, 1)]


def test_units_of_the_reset_text_are_dropped_under_their_own_generation() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.reset(at=4)
    assert UnitChanged(1, 1, "dropped", None, None) in (stage.history[-1][1] or [])


def test_two_resets_keep_a_unit_through_both() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.reset(at=4)
    stage.reply("Three.")
    stage.reset(at=4)
    stage.reply("Four.")
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Four.", 0.5)]
    assert stage.asked == ["One.", "Four."]


def test_kept_unit_that_was_heard_can_be_replayed_without_a_request() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.reset(at=4)
    stage.replay(0)
    stage.settle()
    assert (stage.sound, stage.asked) == ([("One.", 1.0), ("One.", 1.0)], ["One.", "Two."])


def test_reset_in_the_middle_keeps_what_was_heard_before_it() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.complete(1, 1.0)
    stage.play(0.75)
    assert stage.heard > 4
    stage.reset(at=4)
    assert stage.heard == 4


def test_unit_dropped_by_a_stop_stays_dropped_when_a_reset_keeps_it() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.stop()
    stage.reset(at=4)
    stage.reply("New.")
    stage.settle()
    assert (stage.states, stage.sound) == (["dropped", "done"], [("New.", 0.5)])
