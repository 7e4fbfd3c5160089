"""The phases of a unit's life as the Performance panel draws them."""

from __future__ import annotations

from onetake import Unit
from onetake.browser.devtools import COLOURS, Life
from onetake.browser.inspection import Times
from onetake.life import UnitState


def life(times: Times, *marks: tuple[str, float]) -> Life:
    """A life that went from state to state at those times."""
    begun = Life(Unit(1, 0, 0, 2, "a.", None), times, generation=1)
    for state, at_ms in marks:
        begun.turn(UnitState(state), at_ms)
    return begun


def test_the_phases_follow_one_another_from_the_units_closing_to_its_end() -> None:
    spoken = life(
        Times(first_byte=30.0, first_sound=50.0),
        ("queued", 10.0), ("synthesising", 20.0), ("playing", 55.0), ("done", 90.0),
    )  # fmt: skip
    assert list(spoken.phases()) == [
        ("queued", 10.0, 20.0),
        ("synthesising", 20.0, 30.0),
        ("ready", 30.0, 50.0),  # when it sounded, not when that was noticed
        ("playing", 50.0, 90.0),
    ]


def test_a_life_cut_short_ends_in_the_phase_it_was_in() -> None:
    assert list(life(Times(), ("queued", 10.0), ("dropped", 15.0)).phases()) == [("queued", 10.0, 15.0)]
    failed = life(Times(), ("queued", 10.0), ("synthesising", 20.0), ("failed", 35.0))
    assert list(failed.phases()) == [("queued", 10.0, 20.0), ("synthesising", 20.0, 35.0)]


def test_a_replay_is_a_life_of_its_own() -> None:
    spoken = life(
        Times(first_byte=30.0, first_sound=50.0),
        ("queued", 10.0), ("synthesising", 20.0), ("playing", 55.0), ("done", 90.0),
        ("queued", 200.0), ("playing", 210.0), ("done", 240.0),
    )  # fmt: skip
    assert list(spoken.phases()) == [("queued", 200.0, 210.0), ("playing", 210.0, 240.0)]


def test_a_unit_that_is_called_back_while_it_plays_waits_again() -> None:
    marks = [("queued", 10.0), ("synthesising", 20.0), ("playing", 50.0), ("queued", 60.0), ("playing", 80.0)]
    called_back = life(Times(first_byte=30.0, first_sound=50.0), *marks, ("done", 90.0))
    assert list(called_back.phases())[3:] == [("playing", 50.0, 60.0), ("queued", 60.0, 80.0), ("playing", 80.0, 90.0)]


def test_every_phase_has_a_colour() -> None:
    lasting = {state.value for state in UnitState if state not in ("done", "failed", "dropped")}
    assert set(COLOURS) == lasting | {"ready"}
