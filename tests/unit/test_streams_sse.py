"""The decoder of server-sent events keeps the HTML standard, whatever the chunks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.streams.sse import EVENT_LIMIT, ServerSentEvent, SseDecoder

CASES = {
    "the data of one event": (b"data: a\n\n", [("message", "a", None, None)]),
    "one space after the colon is not data": (
        b"data:a\n\ndata:  a\n\n",
        [("message", "a"), ("message", " a")],
    ),
    "several data lines are joined by a line feed": (b"data: a\ndata:\ndata: b\n\n", [("message", "a\n\nb")]),
    "name, id and retry": (b"event: e\nid: 7\nretry: 250\ndata: x\n\n", [("e", "x", "7", 250)]),
    "name, id and retry are the event's own": (
        b"event: e\nid: 7\nretry: 1\ndata: x\n\ndata: y\n\n",
        [("e", "x", "7", 1), ("message", "y")],
    ),
    "an id with a NUL is ignored": (b"id: 7\0\ndata: x\n\n", [("message", "x")]),
    "a retry that is not digits is ignored": (b"retry: 1s\ndata: x\n\n", [("message", "x")]),
    "comments and unknown fields are ignored": (b": hi\nfoo: bar\ndata: x\n: ho\n\n", [("message", "x")]),
    "a field without a colon has an empty value": (b"data\n\n", [("message", "")]),
    "an event without data is dropped with its name": (b"event: e\n\ndata: x\n\n", [("message", "x")]),
    "an event that no blank line closes is dropped": (b"data: a\n\ndata: b\n", [("message", "a")]),
    "a leading byte order mark is dropped, once": (
        b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n",
        [("message", "a")],
    ),
    "CRLF": (b"event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", [("e", "a"), ("message", "b")]),
    "CR": (b"event: e\rdata: a\r\rdata: b\r\r", [("e", "a"), ("message", "b")]),
    "mixed line ends": (b"data: a\r\ndata: b\rdata: c\n\r\n", [("message", "a\nb\nc")]),
    "text beyond ASCII": ("data: 안녕 👩‍💻\n\n".encode(), [("message", "안녕 👩‍💻")]),
    "other line separators are data": (
        "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
        [("message", "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg")],
    ),
    "bytes that are not UTF-8": (b"data: a\xff\xc3\n\n", [("message", "a\ufffd\ufffd")]),
}


def events(rows: list[tuple[object, ...]]) -> list[ServerSentEvent]:
    return [ServerSentEvent(*(*row, None, None)[:4]) for row in rows]  # type: ignore[arg-type]


def decode(*chunks: bytes) -> list[ServerSentEvent]:
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize(("stream", "expected"), CASES.values(), ids=CASES)
def test_a_stream_gives_its_events_in_any_two_chunks_and_byte_by_byte(
    stream: bytes, expected: list[tuple[object, ...]]
) -> None:
    assert decode(stream) == events(expected)
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == events(expected)
    for cut in range(len(stream) + 1):
        assert decode(stream[:cut], stream[cut:]) == events(expected)


@given(
    st.lists(
        st.sampled_from([b"data", b"event: e", b"id: 1", b":", b"\r", b"\n", b"\r\n", b"\xc3\xa9", b"\xff"])
    ),
    st.lists(st.integers(0, 60)),
)
def test_any_chunking_of_any_bytes_gives_the_same_events(pieces: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(pieces)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    assert decode(*chunks) == decode(stream)


def test_an_event_comes_with_the_first_line_end_that_closes_it() -> None:
    """Not with the next byte: a CR ends a line whether or not an LF follows."""
    assert decode(b"data: a\r\r") == events([("message", "a")])


def test_an_event_over_the_limit_is_not_held() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\n\ndata: ") == events([("message", "a")])
    for _ in range(EVENT_LIMIT // 2**20):
        assert not decoder.too_long
        decoder.feed(b"x" * 2**20)
    assert decoder.too_long
    assert decoder.feed(b"\n\ndata: b\n\n") == []


def test_events_before_one_over_the_limit_are_not_lost() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\n\ndata: " + b"x" * EVENT_LIMIT) == events([("message", "a")])
    assert decoder.too_long


def test_many_short_lines_count_as_one_event() -> None:
    decoder = SseDecoder()
    decoder.feed(b"data: x\n" * (EVENT_LIMIT // 7 + 1))
    assert decoder.too_long


def test_comments_without_end_are_not_an_event() -> None:
    decoder = SseDecoder()
    decoder.feed(b": keep-alive\n" * (EVENT_LIMIT // 12 + 1))
    assert decoder.feed(b"data: a\n\n") == events([("message", "a")])
