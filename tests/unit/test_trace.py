"""Traces: a session written down gives the same effects again, and an anonymous one tells no word of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from onetake import Cutter, for_engine
from onetake.conductor import Conductor
from onetake.cues import (
    AlignmentReceived,
    AudioReceived,
    Event,
    PlaybackEnded,
    PlaybackPosition,
    PlaybackStarted,
    ReplyFinal,
    Reset,
    SynthesisDone,
    SynthesisFailed,
    Token,
    UnitClosed,
)
from onetake.errors import UsageError
from onetake.server.cli import main
from onetake.trace import Trace, masked, replay

REPLY = "One moment, 잠깐만요. [softly] There it is.\n```card\nSecret table\n```\n[emotion:warm]"


def session() -> Trace:
    """Two units, one heard and one failed, then the reply written anew."""
    cutter = Cutter()
    cutter.feed(REPLY)
    cutter.end_unit(REPLY.index("[softly]"))
    cutter.finish()
    closed = [
        UnitClosed(unit, for_engine(cutter.slice(unit.start, unit.end), False, unit.start)) for unit in cutter.take()
    ]
    first, second = Token(1, 0, 1), Token(1, 1, 1)
    events: list[Event] = [
        closed[0],
        AudioReceived(first, 0.5),
        AlignmentReceived(first, ["O", "n", "e"], [0.0, 0.1, 0.2], [0.1, 0.2, 0.3]),
        PlaybackStarted(first),
        closed[1],
        PlaybackPosition(first, 0.25),
        SynthesisDone(first, 0.5),
        PlaybackEnded(first),
        ReplyFinal(),
        SynthesisFailed(second, "engine_failed", "The engine broke at One moment."),
        Reset(2),
    ]
    trace, conductor = Trace(), Conductor(2)
    trace.begin(2)
    for at, event in enumerate(events):
        trace.note(10.0 * at, event, conductor.handle(event))
    return trace


def test_a_trace_gives_the_same_effects_again() -> None:
    steps = list(replay(session().text().splitlines()))
    assert len(steps) == 11
    assert all(step.effects == step.expected for step in steps)
    assert any(step.effects for step in steps)


def test_an_anonymous_trace_gives_its_effects_again_too() -> None:
    assert all(step.effects == step.expected for step in replay(session().text(anonymous=True).splitlines()))


@pytest.mark.parametrize("word", ["moment", "잠깐", "There", "softly", "warm", "broke"])
def test_an_anonymous_trace_holds_no_word_of_the_conversation(word: str) -> None:
    assert word in session().text()
    assert word not in session().text(anonymous=True)


def test_masked_text_keeps_its_length_and_scripts() -> None:
    assert masked("Hi 안녕, 42 😀 Привет!") == "Aa 가가, 00 😀 яяяяяя!"


def test_two_replies_are_told_apart() -> None:
    trace = session()
    trace.begin(1)
    trace.note(0.0, ReplyFinal(), [])
    assert all(step.effects == step.expected for step in replay(trace.text().splitlines()))


@pytest.mark.parametrize("line", ["{", "[]", '{"event": {"type": "Nonsense"}, "effects": []}', '"a"'])
def test_a_line_that_is_no_trace_is_named(line: str) -> None:
    with pytest.raises(UsageError, match="line 2"):
        list(replay(['{"begin": {"concurrency": 1}}', line]))


def test_the_command_prints_the_effects_of_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(session().text(), encoding="utf-8")
    result = CliRunner().invoke(main, ["replay", str(file)])
    assert result.exit_code == 0, result.output
    kinds = [json.loads(line)["type"] for line in result.output.splitlines()]
    assert kinds.count("Synthesise") == 2
    assert "Silence" in kinds


def test_the_command_tells_where_effects_differ(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(session().text().replace('"type": "Silence"', '"type": "Hold"', 1), encoding="utf-8")
    result = CliRunner().invoke(main, ["replay", str(file)])
    assert result.exit_code == 1
    assert "first on line 12" in result.stderr
