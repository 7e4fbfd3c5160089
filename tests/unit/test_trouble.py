"""Whatever may go wrong is told in the listener's language: every code that can reach the page has words in each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ONETAKE = ROOT / "py" / "onetake"
CODE = re.compile(r"[a-z]+(_[a-z]+)*")

#: What codes are made of in Python: the first text of these calls, and what `refusals` and `failures` make of others.
RAISED = {"ApiError", "EngineError", "SpeechError", "SynthesisFailed", "Failed", "_fail"}
SPEECH = ["server/speech/*.py", "browser/synthesis.py", "browser/voice.py"]
REPLIES = ["server/*.py", "server/store/*.py", "streams/onetake.py", "browser/replies.py"]

#: Answers to what this page never does, or does without waiting for the answer.
NOT_SHOWN = {
    *("foreign_host", "foreign_origin", "unknown_file", "unknown_wheel"),  # before there is a page
    *("stale_generation", "bad_position"),  # PUT heard
}
#: What FastAPI, our error handler and the page's own reading of a status say, to any request.
ANYWHERE = {"bad_request", "internal_error", "token_required", "http"}


def raised(patterns: list[str]) -> Iterator[str]:
    """The codes that these modules name where they raise, report or describe a failure."""
    for pattern in patterns:
        for file in ONETAKE.glob(pattern):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and name_of(node.func) in RAISED:
                    yield from filter(CODE.fullmatch, texts(node.args[:2]))
                if isinstance(node, ast.Dict) and texts(node.keys[:1]) == ["code"]:
                    yield from texts(node.values[:1])
                if isinstance(node, ast.Assign) and name_of(node.targets[0]) == "code, message":
                    yield from texts(node.value.elts[:1] if isinstance(node.value, ast.Tuple) else [])


def name_of(node: ast.AST) -> str:
    return ast.unparse(node).strip("()").rpartition(".")[2]


def texts(nodes: list[ast.expr | None]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def in_tables() -> tuple[set[str], set[str]]:
    from onetake.server.failures import _FAILURES
    from onetake.server.speech.refusals import _BY_STATUS, _MEANINGS

    speech = {meaning for _, meaning in _MEANINGS} | set(_BY_STATUS.values()) | {"request_refused"}
    return speech, {code for _, code, *_ in _FAILURES}


def from_javascript() -> set[str]:
    """The codes of `web/take.mjs`, which reads what `POST /speech` answers."""
    return set(re.findall(r'\berror\("(\w+)"', (ROOT / "web" / "take.mjs").read_text(encoding="utf-8")))


def worded() -> dict[str, set[str]]:
    """The keys of `web/trouble.mjs` by language."""
    table = (ROOT / "web" / "trouble.mjs").read_text(encoding="utf-8")
    parts = re.split(r"^  (\w\w): \{$", table, flags=re.MULTILINE)[1:]
    return {language: set(re.findall(r'^    "([\w.]+)":', part, re.MULTILINE)) for language, part in
            zip(parts[::2], parts[1::2], strict=True)}


@pytest.fixture(scope="module")
def wanted() -> set[str]:
    speech, replies = in_tables()
    speech |= {*raised(SPEECH), *from_javascript()}
    replies |= {*raised(REPLIES)}
    found = {f"speech.{code}" for code in speech | ANYWHERE} | {f"reply.{code}" for code in replies | ANYWHERE}
    return {key for key in found if key.partition(".")[2] not in NOT_SHOWN}


def test_codes_are_found_wherever_they_come_from(wanted):
    """The search itself: one of each place and way."""
    assert wanted >= {
        *("speech.no_voice", "speech.engine_timeout", "speech.key_refused", "speech.speech_timeout", "speech.internal"),
        *("speech.not_a_take", "speech.unsupported_audio"),
        *("reply.model_busy", "reply.writer_lost", "reply.server_stopped", "reply.events_lost", "reply.unknown_reply"),
        *("reply.reply_failed", "reply.server_unreachable", "reply.bad_event_id"),
    }


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_code_has_words_in_every_language(wanted, language):
    assert wanted - worded()[language] == set()


def test_every_code_of_the_readme_has_words():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"\n\| code \| meaning \|\n(.*?)\n\n", readme, re.DOTALL)
    assert table
    codes = {code for row in table[1].splitlines() for code in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert len(codes) > 10
    assert {f"speech.{code}" for code in codes} - worded()["ko"] == set()


@pytest.mark.parametrize("language", ["en", "ko"])
def test_no_words_are_kept_for_what_nothing_says(wanted, language):
    chosen_by_the_page = {"speech.text_over_limit", "limit.characters", "limit.bytes"}
    assert worded()[language] - wanted - chosen_by_the_page == set()
