"""Traces: a session written down gives the same effects again, and an anonymous one tells no word of it."""

from __future__ import annotations

import json
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from onetake import Cutter, Unit, for_engine
from onetake.conductor import Conductor
from onetake.cues import (
    AlignmentReceived,
    AudioReceived,
    Event,
    PlaybackEnded,
    PlaybackPosition,
    PlaybackStarted,
    ReplyFailed,
    ReplyFinal,
    Reset,
    SynthesisDone,
    Synthesise,
    SynthesisFailed,
    Token,
    UnitChanged,
    UnitClosed,
)
from onetake.errors import UsageError
from onetake.server.cli import main
from onetake.trace import Trace, replay

REPLY = "One moment, 잠깐만요. [softly] There it is.\n```card\nSecret table\n```\n[emotion:warm]"


def session(reply: str = REPLY) -> Trace:
    """Two units, one heard and one failed, then the reply written anew."""
    cutter = Cutter()
    cutter.feed(reply)
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


SAID = "Zanzibar"
TOKEN = Token(1, 0, 1)
UNIT = Unit(1, 0, 0, len(SAID), SAID, SAID)


@pytest.mark.parametrize(
    "noted",
    [
        UnitClosed(UNIT, for_engine(SAID, audio_tags=True)),
        ReplyFailed(SAID, SAID),
        AlignmentReceived(TOKEN, [SAID], [0.0], [0.5]),
        SynthesisFailed(TOKEN, SAID, SAID),
        Synthesise(TOKEN, SAID),
        UnitChanged(1, 0, "failed", SAID, SAID),
    ],
    ids=lambda noted: type(noted).__name__,
)
def test_an_anonymous_trace_holds_no_text_of_any_field(noted: Any) -> None:
    trace = Trace()
    trace.begin(1)
    trace.note(0.0, noted, [noted])
    assert SAID in trace.text()
    assert SAID not in trace.text(anonymous=True)


def test_an_anonymous_trace_tells_which_of_our_errors_it_was() -> None:
    assert "engine_failed" in session().text(anonymous=True)


def test_anonymous_traces_of_texts_of_one_shape_are_the_same() -> None:
    other = REPLY.translate(str.maketrans("hslwTO잠깐", "kzmvBU가만"))
    assert other != REPLY
    assert session(other).text(anonymous=True) == session().text(anonymous=True)


def test_a_trace_is_json_also_where_an_engine_does_not_know_a_time() -> None:
    trace = Trace()
    trace.begin(1)
    trace.note(0.0, AlignmentReceived(TOKEN, ["a", "b"], [nan, 0.5], [0.5, inf]), [])
    (_, line) = trace.text().splitlines()
    (step,) = replay(trace.text().splitlines())
    assert json.loads(line, parse_constant=pytest.fail)["event"]["starts"] == [None, 0.5]
    assert isinstance(step.event, AlignmentReceived)
    assert isnan(step.event.starts[0])


def test_a_report_is_run_as_it_is() -> None:
    report = json.dumps({"report": {"browser": "none"}}) + "\n" + session().text(anonymous=True)
    steps = list(replay(report.splitlines()))
    assert len(steps) == 11
    assert all(step.effects == step.expected for step in steps)


def test_the_oldest_replies_are_forgotten_before_a_trace_grows_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onetake.trace.KEPT", 100)
    trace = Trace()
    for reply in range(1, 10):
        trace.begin(concurrency=reply)
        for _ in range(50):
            trace.note(0.0, ReplyFinal(), [])
    begun = [json.loads(line)["begin"]["concurrency"] for line in trace.text().splitlines() if "begin" in line]
    assert begun == [7, 8, 9]


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
