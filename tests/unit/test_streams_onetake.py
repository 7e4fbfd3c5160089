"""The adapter of our own reply stream lets every event through exactly once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.errors import UsageError
from onetake.streams import (
    Delta,
    Event,
    Failed,
    Final,
    Reset,
    Start,
    Stopped,
    Tool,
    UnitEnd,
    open_adapter,
)
from onetake.streams.sse import EVENT_LIMIT


def wire(*rows: tuple[int, str, dict[str, Any]], generation: int = 1) -> bytes:
    """The bytes of these events (number, name, payload)."""
    blocks = []
    for number, name, payload in rows:
        data = json.dumps({"generation": generation, **payload}, ensure_ascii=False)
        blocks.append(f"event: {name}\ndata: {data}\nid: {number}\n\n".encode())
    return b"".join(blocks)


START = (1, "start", {"reply": "r", "conversation": "c"})
WHOLE = (
    wire(
        START,
        (2, "delta", {"text": "잠깐, 👩‍💻. "}),
        (3, "unit_end", {"at": 9}),
        (4, "tool", {"id": "t", "name": "calendar", "phase": "call", "at": 9}),
        (5, "tool", {"id": "t", "name": "calendar", "phase": "result", "at": 9}),
        (6, "delta", {"text": "Line\u2028separator\u0085s."}),
    )
    + b": keep-alive\n\n"
    + wire(
        (7, "reset", {"at": 0}), (8, "delta", {"text": "Again."}), (9, "final", {"length": 6}), generation=2
    )
)
WHOLE_EVENTS: list[Event] = [
    Start("r", "c", 1),
    Delta("잠깐, 👩‍💻. "),
    UnitEnd(9),
    Tool("t", "calendar", "call", 9),
    Tool("t", "calendar", "result", 9),
    Delta("Line\u2028separator\u0085s."),
    Reset(0, 2),
    Delta("Again."),
    Final(),
]


def read(*chunks: bytes) -> list[Event]:
    adapter = open_adapter("onetake")
    return [event for chunk in chunks for event in adapter.feed(chunk)] + adapter.end_response()


def test_a_stream_gives_its_events_whole_and_byte_by_byte() -> None:
    assert read(WHOLE) == WHOLE_EVENTS
    assert read(*(WHOLE[i : i + 1] for i in range(len(WHOLE)))) == WHOLE_EVENTS


def test_a_stream_gives_its_events_in_any_two_chunks() -> None:
    for cut in range(len(WHOLE) + 1):
        assert read(WHOLE[:cut], WHOLE[cut:]) == WHOLE_EVENTS


@given(st.lists(st.integers(0, len(WHOLE)), max_size=8))
def test_a_connection_lost_anywhere_any_number_of_times_loses_and_repeats_nothing(cuts: list[int]) -> None:
    """Each time the server sends what comes after `last_event_id`, as the reconnecting reader asks."""
    blocks = [block + b"\n\n" for block in WHOLE.split(b"\n\n")[:-1] if not block.startswith(b":")]
    adapter = open_adapter("onetake")
    events: list[Event] = []
    for cut in cuts:
        events += adapter.feed(b"".join(blocks[int(adapter.last_event_id or 0) :])[:cut])
        events += adapter.end_response()
    events += adapter.feed(b"".join(blocks[int(adapter.last_event_id or 0) :]))
    assert events == WHOLE_EVENTS


def test_a_full_replay_after_reconnecting_is_ignored_up_to_what_was_seen() -> None:
    adapter = open_adapter("onetake")
    first = adapter.feed(WHOLE[:200])
    adapter.end_response()
    assert first + adapter.feed(WHOLE) == WHOLE_EVENTS


def test_the_end_of_a_response_is_not_the_end_of_the_reply() -> None:
    adapter = open_adapter("onetake")
    adapter.feed(wire(START, (2, "delta", {"text": "Hello"})) + b"event: delta\ndata: {")
    assert adapter.end_response() == []
    assert not adapter.ended
    assert adapter.last_event_id == "2"


@pytest.mark.parametrize(
    ("name", "payload", "event"),
    [
        ("final", {"length": 0}, Final()),
        ("stopped", {"length": 0}, Stopped(0)),
        (
            "error",
            {"code": "model_busy", "message": "Busy.", "retryable": True},
            Failed("model_busy", "Busy.", True),
        ),
    ],
)
def test_what_ends_a_reply_ends_it(name: str, payload: dict[str, Any], event: Event) -> None:
    adapter = open_adapter("onetake")
    late = (3, "delta", {"text": "late"})
    assert adapter.feed(wire(START, (2, name, payload), late)) == [Start("r", "c", 1), event]
    assert adapter.ended


def test_a_reset_opens_an_ended_reply_again() -> None:
    adapter = open_adapter("onetake")
    adapter.feed(wire(START, (2, "final", {"length": 0})))
    again = wire((3, "reset", {"at": 0}), (4, "delta", {"text": "Again"}), generation=2)
    assert adapter.feed(again) == [Reset(0, 2), Delta("Again")]
    assert not adapter.ended


def test_events_of_another_generation_are_dropped() -> None:
    adapter = open_adapter("onetake")
    adapter.feed(wire(START) + wire((2, "reset", {"at": 0}), generation=2))
    assert adapter.feed(wire((3, "delta", {"text": "old"}), (4, "reset", {"at": 0}), generation=1)) == []
    assert adapter.feed(wire((5, "delta", {"text": "new"}), generation=2)) == [Delta("new")]


def test_a_reply_joined_after_a_reset_is_of_the_generation_it_is_in() -> None:
    assert read(wire((1, "start", {"reply": "r", "conversation": "c"}), generation=3)) == [Start("r", "c", 3)]


def test_events_of_unknown_names_are_ignored() -> None:
    assert read(wire(START, (2, "mood", {"x": 1}), (3, "delta", {"text": "a"}))) == [
        Start("r", "c", 1),
        Delta("a"),
    ]


MALFORMED = {
    "no JSON": b"event: delta\nid: 2\ndata: {\n\n",
    "deeply nested": b"event: delta\nid: 2\ndata: " + b"[" * 100_000 + b"\n\n",
    "a number of 5000 digits": b"event: delta\nid: 2\ndata: " + b"1" * 5000 + b"\n\n",
    "no object": b"event: delta\nid: 2\ndata: []\n\n",
    "no generation": b'event: delta\nid: 2\ndata: {"text": "x"}\n\n',
    "no id": b'event: delta\ndata: {"generation": 1, "text": "x"}\n\n',
    "an id that is no number": b'event: delta\nid: x\ndata: {"generation": 1, "text": "x"}\n\n',
    "text that is no string": wire((2, "delta", {"text": None})),
    "a position that is no number": wire((2, "unit_end", {"at": "1"})),
    "a position that is a truth value": wire((2, "unit_end", {"at": True})),
    "a negative position": wire((2, "reset", {"at": -1}), generation=2),
}


@pytest.mark.parametrize("block", MALFORMED.values(), ids=MALFORMED)
def test_an_event_that_cannot_be_read_fails_the_reply_and_raises_nothing(block: bytes) -> None:
    adapter = open_adapter("onetake")
    adapter.feed(wire(START))
    (failed,) = adapter.feed(block + wire((3, "delta", {"text": "x"})))
    assert isinstance(failed, Failed)
    assert failed.code == "malformed_event"
    assert adapter.ended


def test_a_gap_in_the_numbers_fails_the_reply() -> None:
    """Text is missing, so every later position would mean another place."""
    adapter = open_adapter("onetake")
    assert adapter.feed(wire(START, (3, "delta", {"text": "x"})))[1:] == [
        Failed("events_lost", "Event 3 came after 1.", True)
    ]
    assert adapter.last_event_id == "1"


def test_an_endless_event_fails_the_reply_once() -> None:
    adapter = open_adapter("onetake")
    events = adapter.feed(wire(START) + b"data: " + b"x" * EVENT_LIMIT) + adapter.feed(b"x" * 10)
    assert [type(event) for event in events] == [Start, Failed]


@given(st.binary(max_size=300), st.integers(0, 300))
def test_binary_noise_raises_nothing(noise: bytes, cut: int) -> None:
    assert all(isinstance(event, Event) for event in read(WHOLE[:100], noise[:cut], noise[cut:]))


def test_an_unknown_protocol_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'carrier-pigeon'.*onetake"):
        open_adapter("carrier-pigeon")
