"""What a turn comes to: the events of an adapter, taken by a cutter as the page does it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from onetake.streams import Delta, Event, Failed, Final, Reset, UnitEnd, open_adapter
from onetake.units import Cutter

SAMPLES = Path(__file__).parent / "streams"

OUTCOMES = {"aborted": "interrupted", "connection_lost": "interrupted", "refusal": "refusal"}
"""What a failure is called in the samples, by its code; any other is an error."""


@dataclass
class Told:
    """A turn in the words of the samples (see their README)."""

    content: str = ""
    unit_ends: list[int] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    final: bool = False
    outcome: str = ""
    resets: list[int] = field(default_factory=list)


def tell(protocol: str, responses: Iterable[Sequence[bytes]]) -> Told:
    """Read a turn, each of its responses given in chunks."""
    adapter = open_adapter(protocol)
    events = []
    for chunks in responses:
        events += [event for chunk in chunks for event in adapter.feed(chunk)] + adapter.end_response()
    return judge(events, awaiting=adapter.awaiting)


def judge(events: Iterable[Event], *, awaiting: bool = False) -> Told:
    """What these events come to."""
    told = Told(outcome="awaiting_tool" if awaiting else "interrupted")
    cutter = Cutter()
    for event in events:
        assert not cutter.final, f"{event} after the end"
        match event:
            case Delta(text):
                assert text
                cutter.feed(text)
            case UnitEnd(at):
                told.unit_ends.append(at)
                cutter.end_unit(at)
            case Reset(at):
                told.resets.append(at)
                told.unit_ends = [end for end in told.unit_ends if end <= at]
                cutter.reset(at)
            case Final(outcome):
                told.outcome = outcome
                cutter.finish()
            case Failed(code):
                told.outcome = OUTCOMES.get(code, "error")
            case _:
                raise AssertionError(event)
    told.content, told.final = cutter.slice(0, cutter.length), cutter.final
    last = told.unit_ends[-1] if told.unit_ends else 0
    if told.final and told.content[last:].strip():
        told.unit_ends.append(cutter.length)
    told.units = [cutter.slice(unit.start, unit.end) for unit in cutter.take()]
    return told


def split(body: bytes, places: Iterable[int]) -> list[bytes]:
    """The body in chunks, cut at these places."""
    cuts = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[start:end] for start, end in pairwise(cuts)]


def single_bytes(body: bytes) -> list[bytes]:
    return [body[i : i + 1] for i in range(len(body))]


def sse(*records: Any, end: str = "") -> bytes:
    """Data-only server-sent events of these records; a `type` gives the event its name too."""
    blocks = []
    for record in records:
        name = f"event: {record['type']}\n" if isinstance(record, dict) and "type" in record else ""
        blocks.append(f"{name}data: {json.dumps(record)}\n\n")
    return ("".join(blocks) + end).encode()


def ndjson(*records: Any) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


CUTS = st.lists(st.integers(0, 10**6), max_size=30)
"""Places to cut a body at."""
