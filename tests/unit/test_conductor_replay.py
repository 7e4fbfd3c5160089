"""The listener goes back to a unit: it sounds at once, from the audio that is here, and the reply goes on.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

import pytest

from onetake import UsageError
from onetake.cues import Play, Proceed, Silence, Synthesise, Token
from tests.unit.stage import Stage


def played() -> Stage:
    """A reply of three units that has played out."""
    stage = Stage().reply("One.", "Two.", "Three.")
    for unit in range(3):
        stage.complete(unit, 1.0)
    stage.play()
    stage.clear_sound()
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
    with pytest.raises(UsageError, match=f"no unit {unit} to replay: this reply has 3 so far"):
        played().replay(unit)


def test_replay_of_a_unit_whose_audio_never_came_is_refused() -> None:
    stage = Stage().reply("One.")
    stage.fail(0)
    with pytest.raises(UsageError, match=r"unit 0 has no audio to replay.*regenerate the reply"):
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
