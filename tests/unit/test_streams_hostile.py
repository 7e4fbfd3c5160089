"""No bytes make an adapter raise, hold on to them without bound, take quadratic time or say what is no text."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.streams import PROTOCOLS, Delta, Event, Failed, open_adapter
from tests.unit.telling import CUTS, SAMPLES, judge, ndjson, split, sse

BODIES = {file: file.read_bytes() for file in sorted(SAMPLES.glob("*/*.*")) if file.suffix in (".sse", ".ndjson")}
OTHERS = [name for name in PROTOCOLS if name != "onetake"]
LINES_OF_JSON = {"ollama-chat", "open-webui"}
each_protocol = pytest.mark.parametrize("protocol", OTHERS)


def read(protocol: str, chunks: list[bytes]) -> list[Event]:
    adapter = open_adapter(protocol)
    return [event for chunk in chunks for event in adapter.feed(chunk)] + adapter.end_response()


def frame(protocol: str, data: bytes) -> bytes:
    """A record of that protocol's framing."""
    return data + b"\n" if protocol in LINES_OF_JSON else b"data: " + data + b"\n\n"


@each_protocol
@given(noise=st.lists(st.binary(max_size=60) | st.sampled_from([b"\n\n", b"data: ", b"{", b'"', b"["])), cuts=CUTS)
@settings(max_examples=40)
def test_binary_noise_says_nothing_and_raises_nothing(protocol: str, noise: list[bytes], cuts: list[int]) -> None:
    events = read(protocol, split(b"".join(noise), cuts))
    assert not [event for event in events if not isinstance(event, Failed)]


DAMAGE = [b"", b"\n", b"\n\n", b'"', b"{", b"}", b"\\", b"null", b"\xff", b"[1]"]


@given(st.sampled_from([*BODIES]), st.data())
@settings(max_examples=300)
def test_a_damaged_sample_raises_nothing_and_its_ends_stay_within_the_text(file: Any, data: st.DataObject) -> None:
    body = bytearray(BODIES[file])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        end = start + data.draw(st.sampled_from([0, 1, 1, 2, 10, 200]))
        body[start:end] = data.draw(st.sampled_from(DAMAGE))
    told = judge(read(file.parent.name, split(bytes(body), [97, 1001])))
    assert told.unit_ends == sorted(set(told.unit_ends))
    assert all(end <= len(told.content) for end in told.unit_ends)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a value, and of itself."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """The value with another at that path."""
    if not path:
        return by
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


ANYTHING = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 1.5, "", "a", "\ud83d", "text", "tool_use", "stop"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "id", "text"]), inner),
    max_leaves=4,
)


@given(st.sampled_from([*BODIES]), st.data())
@settings(max_examples=400)
def test_a_value_of_any_other_kind_raises_nothing(file: Any, data: st.DataObject) -> None:
    lines = BODIES[file].decode().split("\n")
    holding = [at for at, line in enumerate(lines) if line.rstrip().endswith("}") and "{" in line[:10]]
    at = data.draw(st.sampled_from(holding))
    head, _, record = lines[at].partition("{")
    value = json.loads("{" + record)
    changed = replaced(value, data.draw(st.sampled_from(places(value))), data.draw(ANYTHING))
    lines[at] = head + json.dumps(changed)
    judge(read(file.parent.name, ["\n".join(lines).encode()]))


MALFORMED = {
    "no JSON": b"{",
    "plain words": b"Internal Server Error",
    "deeply nested arrays": b"[" * 100_000,
    "deeply nested objects": b'{"a":' * 100_000,
    "a number of 5000 digits": b"1" * 5000,
}


@each_protocol
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_json_fails_the_turn_and_is_not_said(protocol: str, data: bytes) -> None:
    (failed,) = read(protocol, [frame(protocol, data), frame(protocol, b"{}")])
    assert isinstance(failed, Failed)
    assert failed.code == "malformed_event"
    assert len(failed.message) < 200


@each_protocol
def test_an_event_cut_by_the_end_of_the_body_is_no_malformed_one(protocol: str) -> None:
    events = read(protocol, [frame(protocol, b'{"type": "fr')[:-2]])
    assert [event.code for event in events if isinstance(event, Failed)] in ([], ["connection_lost"])


TEXTS_THAT_ARE_NONE = {
    "openai-responses": sse({"type": "response.output_text.delta", "item_id": "m", "delta": 1}),
    "anthropic-messages": sse({"type": "content_block_delta", "delta": {"type": "text_delta", "text": None}}),
    "ai-sdk-ui": sse({"type": "text-delta", "id": "x", "delta": {"a": 1}}),
    "ag-ui": sse({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ["a"]}),
    "ollama-chat": ndjson({"message": {"content": {"a": 1}}}),
    "gemini": sse({"candidates": [{"content": {"parts": [{"text": 1}]}}]}),
    "open-webui": ndjson({"data": {"type": "message", "data": {"content": 1}}}),
}


@pytest.mark.parametrize(("protocol", "body"), TEXTS_THAT_ARE_NONE.items(), ids=TEXTS_THAT_ARE_NONE)
def test_text_that_is_no_string_fails_the_turn(protocol: str, body: bytes) -> None:
    assert [event.code for event in read(protocol, [body]) if isinstance(event, Failed)] == ["malformed_event"]


@each_protocol
def test_unknown_events_change_nothing(protocol: str) -> None:
    records = (b'{"type": "from-the-future", "text": "x"}', b"null", b"[]", b'"x"', b"{}")
    unknown = [frame(protocol, record) for record in records]
    assert [type(event) for event in read(protocol, unknown)] in ([], [Failed])
    assert not open_adapter(protocol).feed(b"".join(unknown))


# -- without end -------------------------------------------------------------------------------------------


def piece(protocol: str, text: str) -> bytes:
    """The record that says a piece of text."""
    match protocol:
        case "openai-chat":
            return sse({"choices": [{"index": 0, "delta": {"content": text}}]})
        case "openai-responses":
            return sse({"type": "response.output_text.delta", "item_id": "m", "delta": text})
        case "anthropic-messages":
            return sse({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}})
        case "ai-sdk-ui":
            return sse({"type": "text-delta", "id": "x", "delta": text})
        case "ag-ui":
            return sse({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text})
        case "ollama-chat":
            return ndjson({"message": {"content": text}})
        case "gemini":
            return sse({"candidates": [{"content": {"parts": [{"text": text}]}}]})
        case "langgraph":
            return b"event: messages\n" + sse([{"type": "AIMessageChunk", "id": "m", "content": text}, {}])
        case _:
            return ndjson({"data": {"type": "message", "data": {"content": text}}})


def peak(protocol: str, chunk: bytes, count: int) -> tuple[int, list[Event]]:
    """Bytes held at most while that chunk is fed again and again, and the last events there were."""
    adapter = open_adapter(protocol)
    events: list[Event] = []
    tracemalloc.start()
    try:
        for _ in range(count):
            events = adapter.feed(chunk) or events
        return tracemalloc.get_traced_memory()[1], events
    finally:
        tracemalloc.stop()


@each_protocol
def test_text_without_end_fails_and_is_not_held(protocol: str) -> None:
    held, events = peak(protocol, piece(protocol, "한" * 50_000), 60)  # three times the limit
    assert isinstance(events[-1], Failed)
    assert events[-1].code == "reply_too_long"
    assert held < 40e6


@each_protocol
@pytest.mark.parametrize("begin", [b'{"a":"', b"data: ", b": "])
def test_a_line_without_end_fails_and_is_not_held(protocol: str, begin: bytes) -> None:
    adapter = open_adapter(protocol)
    adapter.feed(begin)
    chunk = b"x" * 2**19
    tracemalloc.start()
    events = [event for _ in range(20) for event in adapter.feed(chunk)]
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [event.code for event in events if isinstance(event, Failed)] == ["event_too_long"]
    assert held < 30e6


@each_protocol
def test_events_that_say_nothing_are_not_held(protocol: str) -> None:
    record = frame(protocol, json.dumps({"type": "from-the-future", "x": "y" * 10_000}).encode())
    held, _ = peak(protocol, record * 20, 20)
    assert held < 2e6


@each_protocol
def test_time_is_linear_in_the_text(protocol: str) -> None:
    """Ten times the text in pieces of ten characters takes ten times as long, not a hundred times."""

    def seconds(pieces: int) -> float:
        chunks = [piece(protocol, f"{number:010}") for number in range(pieces)]
        adapter = open_adapter(protocol)
        begin = time.process_time()
        for chunk in chunks:
            adapter.feed(chunk)
        assert not adapter.ended
        return time.process_time() - begin

    seconds(100)
    assert seconds(10_000) < 40 * max(min(seconds(1000) for _ in range(3)), 0.002)


def test_snapshots_take_time_linear_in_their_bytes() -> None:
    content = "All of it again. " * 4000
    adapter = open_adapter("open-webui")
    lengths = range(0, len(content) + 1, 200)
    snapshots = [
        ndjson({"data": {"type": "chat:completion", "data": {"content": content[:length]}}}) for length in lengths
    ]
    begin = time.process_time()
    events = [event for snapshot in snapshots for event in adapter.feed(snapshot)]
    assert time.process_time() - begin < 2 + sum(map(len, snapshots)) / 5e6
    assert "".join(event.text for event in events if isinstance(event, Delta)) == content[: lengths[-1]]
