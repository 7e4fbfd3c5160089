"""Nothing is spoken twice: sameness is generation and index, never text and never who told it.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

from onetake import cues
from onetake.cues import Play, Synthesise
from tests.unit.stage import Stage


def test_unit_that_is_told_twice_is_asked_for_once() -> None:
    """Rows 33 and 34."""
    stage = Stage().reply("One.")
    assert stage.handle(stage.history[0][0]) == []
    assert (stage.asked, stage.stale) == (["One."], 1)


def test_reply_repeated_after_a_reconnection_is_not_read_again() -> None:
    """Row 35."""
    stage = Stage().reply("One.", "Two.")
    stage.settle()
    for event, _ in stage.history[:]:
        if isinstance(event, cues.UnitClosed):
            stage.handle(event)
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Two.", 0.5)]


def test_unit_whose_number_skips_one_is_passed_over() -> None:
    other = Stage(concurrency=2).reply("One.", "Two.")
    stage = Stage()
    stage.handle(other.history[1][0])
    assert (stage.states, stage.stale) == ([], 1)


def test_final_told_twice_asks_for_nothing_again() -> None:
    """Row 33."""
    stage = Stage().reply("One.")
    stage.end()
    assert stage.asked == ["One."]


def test_end_of_a_take_told_twice_makes_room_once() -> None:
    stage = Stage(concurrency=1).reply("One.", "Two.", "Three.")
    token = stage.asked_for(0)
    stage.complete(token, 1.0)
    stage.complete(token, 1.0)
    assert (stage.asked, stage.stale) == (["One.", "Two."], 1)


def test_start_told_twice_counts_the_second() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.started(0)
    assert stage.started(0) == []
    assert stage.stale == 1


def test_end_told_twice_ends_one_unit() -> None:
    """Row 11."""
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    stage.ended(0)
    assert (stage.states, stage.stale) == (["done", "synthesising"], 1)


def test_two_units_with_the_same_words_are_both_spoken() -> None:
    stage = Stage().reply("Yes.", "Yes.")
    stage.settle()
    assert stage.sound == [("Yes.", 0.5), ("Yes.", 0.5)]


def test_play_and_synthesise_carry_the_generation_of_their_day() -> None:
    stage = Stage().reply("One.")
    stage.reset()
    stage.reply("New.")
    made = [effect for _, effects in stage.history[-2:] for effect in effects or []]
    tokens = [effect.token for effect in made if isinstance(effect, (Play, Synthesise))]
    assert tokens == [(2, 0, 1), (2, 0, 1)]
