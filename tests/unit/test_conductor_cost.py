"""What an event costs does not depend on how long the reply is.

Counted, not timed: how often the conductor looks at any unit's entry. That includes searches of lists, which
compare entries.
"""

from __future__ import annotations

import pytest

from onetake import conductor as module
from onetake import cues
from onetake.conductor import Conductor
from onetake.life import Entry
from tests.unit.stage import closed

looks = 0


class CountedEntry(Entry):
    """An entry that counts how often it is read, written and compared."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> object:
        global looks
        looks += 1
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: object) -> None:
        global looks
        looks += 1
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        global looks
        looks += 1
        return self is other

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Entry", CountedEntry)


def cost(conductor: Conductor, event: cues.Event) -> int:
    """How many looks at entries one event takes."""
    before = looks
    conductor.handle(event)
    return looks - before


def dearest_events(units: int) -> dict[str, int]:
    """For each kind of event the most that one took, in a whole reply that is fetched before it sounds."""
    conductor = Conductor(concurrency=2)
    dearest: dict[str, int] = {}

    def tell(event: cues.Event) -> None:
        name = type(event).__name__
        dearest[name] = max(dearest.get(name, 0), cost(conductor, event))

    for event in closed(units):
        tell(event)
    tokens = [cues.Token(1, unit, 1) for unit in range(units)]
    for token in tokens:
        tell(cues.SynthesisStarted(token))
        tell(cues.AudioReceived(token, 0.5))
        tell(cues.AlignmentReceived(token, ["a"], [0.0], [0.5]))
        tell(cues.SynthesisDone(token, 0.5))
    for token in tokens:
        tell(cues.PlaybackStarted(token))
        tell(cues.PlaybackPosition(token, 0.25))
        tell(cues.PlaybackPosition(tokens[-1]._replace(attempt=2), 0.25))  # stale
        tell(cues.PlaybackEnded(token))
    assert [entry.state.value for entry in conductor.entries] == ["done"] * units
    return dearest


def test_no_event_of_a_long_reply_costs_more_than_in_a_short_one() -> None:
    assert dearest_events(2000) == dearest_events(20)


def test_units_that_are_empty_or_fail_cost_no_more_behind_a_long_queue() -> None:
    costs = {}
    for units in (20, 2000):
        conductor = Conductor(concurrency=1)
        for event in closed(units):
            conductor.handle(event)
        for entry in conductor.entries[:-3]:
            conductor.handle(cues.SynthesisDone(entry.token, 0.5))
        token = conductor.entries[-3].token
        costs[units] = [
            cost(conductor, cues.SynthesisDone(token, 0.0)),
            cost(conductor, cues.SynthesisFailed(token._replace(unit=units - 2), "e", "e")),
            cost(conductor, cues.SynthesisDone(token._replace(unit=units - 1), 0.0)),
        ]
    assert costs[2000] == costs[20]


@pytest.mark.parametrize(
    "event",
    [cues.Stop(), cues.Reset(2), cues.Skip(), cues.Replay(0), cues.Dispose()],
    ids=lambda event: type(event).__name__,
)
def test_event_about_the_whole_reply_is_linear(event: cues.Event) -> None:
    conductor = Conductor(concurrency=2)
    for unit in closed(2000):
        conductor.handle(unit)
    for entry in conductor.entries:
        conductor.handle(cues.SynthesisDone(entry.token, 0.5))
    conductor.handle(cues.PlaybackStarted(conductor.entries[0].token))
    assert cost(conductor, event) < 40 * 2000
