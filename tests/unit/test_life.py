"""The table of a unit's life says what it should; the conductor follows no other."""

from __future__ import annotations

import pytest

from onetake.life import ENDS, TRANSITIONS, Turn, UnitState
from tests.unit import promises


@pytest.mark.parametrize("state", list(UnitState))
def test_life_of_a_unit_goes_from(state: UnitState) -> None:
    """Against a table that was written down by itself."""
    assert {after.value for after in TRANSITIONS[state].values()} == promises.LIFE[state.value]


@pytest.mark.parametrize("state", [state for state in UnitState if state not in ENDS])
def test_unit_can_be_dropped_while_it_is(state: UnitState) -> None:
    assert TRANSITIONS[state][Turn.DROP] is UnitState.DROPPED


@pytest.mark.parametrize("state", sorted(ENDS))
def test_only_the_listener_can_bring_back_a_unit_that_is(state: UnitState) -> None:
    assert TRANSITIONS[state] == {Turn.REQUEUE: UnitState.QUEUED}


def test_every_state_leads_to_an_end() -> None:
    for state in UnitState:
        reached = {state}
        for _ in UnitState:
            reached |= {after for each in reached for after in TRANSITIONS[each].values()}
        assert reached >= ENDS


def test_ends_are_three() -> None:
    assert {state.value for state in ENDS} == promises.ENDS
