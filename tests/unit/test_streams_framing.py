"""Lines, and objects, come out of bytes the same whatever the chunks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.streams.json_text import DEPTH_LIMIT, parse
from onetake.streams.lines import LINE_LIMIT, LineDecoder
from onetake.streams.objects import OBJECT_LIMIT, ObjectDecoder
from tests.unit.telling import CUTS, single_bytes, split

LINES = {
    "LF": (b"a\nb\n", ["a", "b"]),
    "CRLF": (b"a\r\nb\r\n", ["a", "b"]),
    "CR": (b"a\rb\r", ["a", "b"]),
    "blank lines": (b"\n\r\n\ra", ["", "", "", "a"]),
    "no end at the end": (b"a\nb", ["a", "b"]),
    "other separators are text": ("a\u2028b\u0085c\x0bd\x0ce\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce"]),
    "a byte order mark": (b"\xef\xbb\xbfa\n", ["a"]),
    "half a character at the end": ("a\n한".encode()[:-1], ["a", "\ufffd"]),
    "nothing": (b"", []),
}

OBJECTS = {
    "an array": (b'[{"a": 1},\r\n{"b": [2]}\n]\n', ['{"a": 1}', '{"b": [2]}']),
    "no array": (b'{"a": {}}{"b": 1}', ['{"a": {}}', '{"b": 1}']),
    "brackets and escapes in strings": (b'[{"a": "}\\"{\\\\"}]', ['{"a": "}\\"{\\\\"}']),
    "one that is cut": (b'[{"a": 1}, {"b"', ['{"a": 1}']),
    "no objects": (b'[1, "x", null]}]', []),
}


def decode(decoder: Any, chunks: list[bytes]) -> list[str]:
    return [record for chunk in chunks for record in decoder.feed(chunk)] + decoder.close()


@pytest.mark.parametrize(
    ("decoder", "body", "records"),
    [(LineDecoder, *case) for case in LINES.values()] + [(ObjectDecoder, *case) for case in OBJECTS.values()],
    ids=[*LINES, *OBJECTS],
)
def test_a_body_gives_its_records_in_any_two_chunks_and_byte_by_byte(
    decoder: Callable[[], Any], body: bytes, records: list[str]
) -> None:
    assert decode(decoder(), single_bytes(body)) == records
    for cut in range(len(body) + 1):
        assert decode(decoder(), [body[:cut], body[cut:]]) == records


@pytest.mark.parametrize("decoder", [LineDecoder, ObjectDecoder])
@given(st.lists(st.sampled_from([b"{", b"}", b'"', b"\\", b"\r", b"\n", b",", b"a", b"\xc3\xa9", b"\xff"])), CUTS)
def test_any_chunking_of_any_bytes_gives_the_same(
    decoder: Callable[[], Any], pieces: list[bytes], cuts: list[int]
) -> None:
    body = b"".join(pieces)
    assert decode(decoder(), split(body, cuts)) == decode(decoder(), [body])


VALUES = st.recursive(st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=3)


@given(st.lists(st.dictionaries(st.text('{}"\\[], a', max_size=4), VALUES, max_size=3), max_size=3))
@settings(max_examples=50)
def test_objects_are_what_json_says_they_are(objects: list[Any]) -> None:
    body = json.dumps(objects, indent=1).encode()
    assert [json.loads(text) for text in decode(ObjectDecoder(), [body])] == objects


@pytest.mark.parametrize(
    ("decoder", "limit", "begin"), [(LineDecoder, LINE_LIMIT, b""), (ObjectDecoder, OBJECT_LIMIT, b"{")]
)
def test_a_record_over_the_limit_is_not_held(decoder: Callable[[], Any], limit: int, begin: bytes) -> None:
    decoding = decoder()
    decoding.feed(begin)
    for _ in range(limit // 2**20):
        assert not decoding.too_long
        decoding.feed(b"x" * 2**20)
    decoding.feed(b"x")
    assert decoding.too_long
    assert decoding.feed(b'}\n{"a": 1}\n') == []


def test_json_may_nest_as_deep_as_the_limit_and_no_deeper() -> None:
    wide = "[" + ",".join(['{"[[[\\"": "]"}'] * 1000) + "]"
    for text in ("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT, wide, '"' + "[" * 1000 + '"'):
        assert parse(text) == json.loads(text)
    for text in ("[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1), '{"a":' * 1000, '["' + "[" * 1000):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever its words
            parse(text)
