"""A stream that is lost and opened again, anywhere and any number of times, comes to the same reply.

Our own wire has tests of its own for this.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.streams import Adapter, Event, Reset, UnitEnd, open_adapter
from tests.unit.telling import Told, judge
from tests.unit.vendors import ai_sdk_bodies, langgraph_bodies, openai_responses_bodies

SEGMENTS = [["잠깐, ", "볼게. 📅 "], ["Two ", "of them. "], ["Done."]]
UNITS = ["잠깐, 볼게. 📅 ", "Two of them. ", "Done."]
WHOLE = Told("".join(UNITS), [10, 23, 28], UNITS, True, "complete")


def blocks(body: bytes) -> list[bytes]:
    return [block + b"\n\n" for block in body.split(b"\n\n")[:-1]]


def replay(adapter: Adapter) -> list[bytes]:
    """All of it again, as `GET /api/chat/{id}/stream` does."""
    return UI_STREAM


UI_STREAM = blocks(ai_sdk_bodies(SEGMENTS)[0])


def after_id(adapter: Adapter) -> list[bytes]:
    """What comes after `Last-Event-ID`."""
    return RUN[int((adapter.last_event_id or "0").partition("-")[0]) :]


RUN = [  # ids may come before or after the data
    f"id: {at}-0\n".encode() + block if at % 2 else block[:-1] + f"id: {at}-0\n\n".encode()
    for at, block in enumerate(blocks(langgraph_bodies(SEGMENTS)[0]), start=1)
]


def after_sequence_number(adapter: Adapter) -> list[bytes]:
    """What comes after `starting_after`."""
    return BACKGROUND[int(adapter.last_event_id or -1) + 1 :]


def background() -> list[bytes]:
    """One response in the background, with tools that the service runs in place of those of the client."""
    events = [block for body in openai_responses_bodies(SEGMENTS) for block in blocks(body)]
    kept = [events[0], *(block for block in events if b"response.c" not in block), events[-1]]
    text = b"".join(kept).replace(b'"function_call"', b'"web_search_call"')
    text = text.replace(b'"background":null', b'"background":true')
    text = re.sub(rb'"id":"resp_\d"', rb'"id":"resp_0"', text)
    count = itertools.count()
    return blocks(re.sub(rb'"sequence_number":\d+', lambda _: b'"sequence_number":%d' % next(count), text))


BACKGROUND = background()

RESUMING: dict[str, Callable[[Adapter], list[bytes]]] = {
    "ai-sdk-ui": replay,
    "langgraph": after_id,
    "openai-responses": after_sequence_number,
}
each_protocol = pytest.mark.parametrize(("protocol", "resume"), RESUMING.items(), ids=RESUMING)


def read(adapter: Adapter, body: bytes) -> list[Event]:
    return adapter.feed(body) + adapter.end_response()


@each_protocol
def test_a_stream_never_lost_is_the_whole(protocol: str, resume: Callable[[Adapter], list[bytes]]) -> None:
    adapter = open_adapter(protocol)
    assert judge(read(adapter, b"".join(resume(adapter)))) == WHOLE


@each_protocol
@given(losses=st.lists(st.floats(0, 1), min_size=1, max_size=5))
@settings(max_examples=150)
def test_a_stream_lost_anywhere_any_number_of_times_is_the_same_and_repeats_no_unit(
    protocol: str, resume: Callable[[Adapter], list[bytes]], losses: list[float]
) -> None:
    adapter = open_adapter(protocol)
    opening = len(resume(adapter)[0])  # before its first event no stream is known to be one that can be resumed
    events: list[Event] = []
    for loss in losses:
        body = b"".join(resume(adapter))
        reach = max(round(loss * len(body)), opening if not events else 0)
        events += read(adapter, body[:reach])
        if adapter.ended:
            break
        assert not adapter.awaiting
    else:
        events += read(adapter, b"".join(resume(adapter)))
    told = judge(events)
    assert (told.content, told.unit_ends, told.units, told.final) == (
        WHOLE.content, WHOLE.unit_ends, WHOLE.units, True,
    )  # fmt: skip
    closed = [event.at for event in events if isinstance(event, UnitEnd)]
    assert closed == sorted(set(closed))  # no unit was closed twice, so none is spoken twice
    resets = [(place, event.at) for place, event in enumerate(events) if isinstance(event, Reset)]
    assert all(at in (0, *closed) for _, at in resets)


def test_where_a_stream_cannot_be_resumed_its_loss_is_a_failure() -> None:
    adapter = open_adapter("openai-responses")
    body = openai_responses_bodies(SEGMENTS)[0]
    read(adapter, body[: len(body) // 2])
    assert adapter.ended
    assert adapter.last_event_id is None
