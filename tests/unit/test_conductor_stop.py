"""A stop and a disposal are ends: silent now, nothing asked for, nothing heard, everything let go.

Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

import pytest

from onetake import cues
from onetake.conductor import Conductor
from onetake.cues import AbortSynthesis, Event, Forget, Proceed, Silence, Token, UnitChanged
from tests.unit.stage import Stage, closed


def kinds(effects: list[cues.Effect]) -> list[type]:
    return [type(effect) for effect in effects if not isinstance(effect, UnitChanged)]


# -- stop ----------------------------------------------------------------------------------------


def test_stop_silences_now() -> None:
    """Rows 1 and 15."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    assert stage.stop()[0] == Silence()
    stage.audio(0, 2.0)
    stage.play()
    assert stage.sound == [("One.", 0.5)]


def test_stop_aborts_every_request_under_way() -> None:
    """Rows 23 and 25."""
    stage = Stage(concurrency=2).reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    tokens = stage.running[:]
    assert [effect.token for effect in stage.stop() if isinstance(effect, AbortSynthesis)] == tokens
    assert len(tokens) == 2


def test_stop_empties_the_queue() -> None:
    """Row 21."""
    stage = Stage().reply("One.", "Two.", "Three.", "Four.")
    stage.stop()
    assert stage.states == ["dropped"] * 4
    stage.settle()
    assert (stage.sound, stage.asked) == ([], ["One."])


def test_stop_in_the_buffered_tail_is_still_an_interrupt() -> None:
    """Row 29: all is written, all is fetched, half has sounded."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    assert stage.state == "speaking"
    stage.stop()
    stage.play()
    assert (stage.sound, stage.states, stage.state) == ([("One.", 0.5)], ["dropped"], "idle")
    assert 0 < stage.heard < 4


def test_stop_between_the_last_block_and_the_end_of_the_take_is_not_a_success() -> None:
    """Row 13."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.stop()
    stage.complete(0, 1.0)
    assert (stage.states, stage.stale) == (["dropped"], 1)


def test_end_report_after_a_stop_does_not_make_the_unit_done() -> None:
    """Row 10."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    stage.play(tell=False)
    stage.stop()
    stage.tell()
    assert (stage.states, stage.heard) == (["dropped"], 0)


def test_stop_before_the_first_byte_ends_the_unit() -> None:
    """Rows 7 and 28: an engine that never answers cannot hold the voice."""
    stage = Stage().reply("One.")
    stage.stop()
    assert (stage.states, stage.state) == (["dropped"], "idle")


def test_units_closed_after_a_stop_are_dropped_and_never_asked_for() -> None:
    stage = Stage()
    stage.write("One.")
    stage.stop()
    stage.write("Two.")
    stage.end()
    assert (stage.states, stage.asked, stage.state) == (["dropped"], [], "idle")


def test_stop_twice_changes_nothing_more() -> None:
    """Row 101."""
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.stop()
    heard = stage.heard
    assert kinds(stage.stop()) == [Silence]
    assert (stage.heard, stage.states) == (heard, ["dropped"])


def test_stop_ends_a_pause_so_that_the_next_reply_can_sound() -> None:
    """Row 24."""
    stage = Stage().reply("One.")
    stage.pause()
    assert Proceed() in stage.stop()


def test_stop_of_a_reply_that_said_nothing_yet_is_quiet() -> None:
    stage = Stage()
    stage.stop()
    assert stage.state == "idle"


def test_stop_keeps_the_audio_that_is_here_for_a_replay() -> None:
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    assert Forget not in kinds(stage.stop())


# -- dispose -------------------------------------------------------------------------------------


def test_dispose_silences_aborts_and_releases() -> None:
    """Rows 16, 89 and 90."""
    stage = Stage().reply("One.", "Two.")
    stage.audio(0, 1.0)
    stage.play(0.5)
    token = stage.asked_for(0)
    assert kinds(stage.dispose()) == [Silence, AbortSynthesis, Forget]
    assert stage.history[-1][1] is not None
    assert AbortSynthesis(token) in stage.history[-1][1]
    assert stage.states == ["dropped", "dropped"]


EVENTS_AFTER: list[Event] = [
    cues.ReplyFinal(),
    cues.ReplyFailed("late", "late"),
    cues.Reset(2),
    cues.SynthesisStarted(Token(1, 0, 1)),
    cues.AudioReceived(Token(1, 0, 1), 1.0),
    cues.AlignmentReceived(Token(1, 0, 1), ["a"], [0.0], [1.0]),
    cues.SynthesisDone(Token(1, 0, 1), 1.0),
    cues.SynthesisFailed(Token(1, 0, 1), "late", "late"),
    cues.PlaybackStarted(Token(1, 0, 1)),
    cues.PlaybackPosition(Token(1, 0, 1), 1.0),
    cues.PlaybackEnded(Token(1, 0, 1)),
    cues.Stop(),
    cues.Pause(),
    cues.Resume(),
    cues.Skip(),
    cues.Replay(0),
    cues.Blocked(),
    cues.Unblocked(),
    cues.Dispose(),
]


@pytest.mark.parametrize("event", EVENTS_AFTER, ids=lambda event: type(event).__name__)
def test_nothing_follows_a_disposal_whatever_comes(event: Event) -> None:
    """Rows 8b, 16 and 18."""
    stage = Stage().reply("One.")
    stage.dispose()
    assert stage.handle(event) == []
    assert (stage.state, stage.stale) == ("idle", 1)


def test_unit_closed_after_a_disposal_is_not_taken_in() -> None:
    stage = Stage()
    stage.write("One.")
    stage.dispose()
    stage.end()
    assert (stage.states, stage.asked) == ([], [])


def test_dispose_while_paused_lets_the_clock_run_for_the_next_reply() -> None:
    stage = Stage().reply("One.")
    stage.pause()
    assert Proceed() in stage.dispose()


def test_thousand_takes_are_each_released_once() -> None:
    """Row 89."""
    conductor = Conductor()
    released: list[Token] = []
    for generation in range(1, 5):
        effects = conductor.handle(cues.Reset(generation))
        for event in closed(250, generation):
            conductor.handle(event)
        for entry in conductor.entries:
            conductor.handle(cues.SynthesisDone(entry.token, 1.0))
        released += [effect.take for effect in effects if isinstance(effect, Forget)]
    released += [effect.take for effect in conductor.handle(cues.Dispose()) if isinstance(effect, Forget)]
    assert len(released) == len(set(released)) == conductor.syntheses == 1000
