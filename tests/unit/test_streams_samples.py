"""Every sample gives what is written next to it, whatever the chunks."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.streams import PROTOCOLS
from tests.unit.telling import CUTS, SAMPLES, single_bytes, split, tell

EXPECTATIONS = {f"{file.parent.name}/{file.name}": file for file in sorted(SAMPLES.glob("*/*.expect.json"))}
each_sample = pytest.mark.parametrize("file", EXPECTATIONS.values(), ids=EXPECTATIONS)


def read(file: Path) -> tuple[str, list[bytes], dict[str, Any]]:
    """Protocol, responses and expectation of a sample."""
    expected = json.loads(file.read_text(encoding="utf-8"))
    responses = [(file.parent / part).read_bytes() for part in expected.pop("parts")]
    del expected["note"]
    return file.parent.name, responses, expected


def test_there_is_a_sample_for_every_protocol_but_our_own() -> None:
    assert {file.parent.name for file in EXPECTATIONS.values()} == {*PROTOCOLS} - {"onetake"}


@each_sample
def test_a_sample_gives_its_result_whole(file: Path) -> None:
    protocol, responses, expected = read(file)
    assert asdict(tell(protocol, [[body] for body in responses])) == expected


@each_sample
def test_a_sample_gives_its_result_byte_by_byte(file: Path) -> None:
    protocol, responses, expected = read(file)
    assert asdict(tell(protocol, map(single_bytes, responses))) == expected


@given(st.sampled_from([*EXPECTATIONS.values()]), CUTS)
@settings(max_examples=200)
def test_a_sample_gives_its_result_in_any_chunks(file: Path, cuts: list[int]) -> None:
    protocol, responses, expected = read(file)
    assert asdict(tell(protocol, [split(body, cuts) for body in responses])) == expected


@each_sample
def test_line_ends_of_any_kind_give_the_same(file: Path) -> None:
    protocol, responses, expected = read(file)
    for line_end in (b"\r\n", b"\r"):
        bodies = [body.replace(b"\r\n", b"\n").replace(b"\n", line_end) for body in responses]
        assert asdict(tell(protocol, [split(body, range(0, len(body), 97)) for body in bodies])) == expected


@each_sample
def test_nothing_is_said_before_its_bytes_are_there(file: Path) -> None:
    """What a prefix of the bytes says is a prefix of what it all says, unless a reset came."""
    protocol, responses, expected = read(file)
    if not expected["resets"]:
        for length in range(0, len(responses[0]), 101):
            told = tell(protocol, [[responses[0][:length]]])
            assert expected["content"].startswith(told.content)
            assert told.unit_ends == expected["unit_ends"][: len(told.unit_ends)]
