"""The scripted companion and the agent it runs in: every scene is a whole reply, with a tool, a card and a
mood."""

from __future__ import annotations

import json
import math
import re
import sys
import time
from datetime import UTC, datetime

import pytest

from onetake.errors import UsageError
from onetake.server.agents import agent_for, build_agent
from onetake.server.companion import CHARACTERS_PER_SECOND, companion
from onetake.server.replies import Replies, Reply
from onetake.units import Cutter

pytestmark = pytest.mark.anyio

MESSAGES = [
    "Hello!",
    "What is on today?",
    "what time is it",
    "Tell me a story.",
    "qwerty",
    "안녕하세요",
    "오늘 일정 알려 줘",
    "지금 몇 시야?",
    "이야기 해 줘",
    "으아아",
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def replies() -> Replies:
    return Replies(agent_for(companion(math.inf)), now=lambda: datetime(2026, 12, 1, 14, 5, tzinfo=UTC))


async def read(reply: Reply) -> tuple[str, list[str], list[str | None], list[str]]:
    """The current take: its text, its spoken units, their emotions, and the tools that were called."""
    cutter = Cutter()
    text, tools = "", []
    generation = (await reply.record()).generation
    for event in [event async for batch in await reply.events(0) for event in batch]:
        payload = json.loads(event.data)
        if payload["generation"] != generation:
            continue
        if event.name == "delta":
            text += payload["text"]
            cutter.feed(payload["text"])
        elif event.name == "unit_end":
            cutter.end_unit(payload["at"])
        elif event.name == "tool" and payload["phase"] == "call":
            tools.append(payload["name"])
        elif event.name == "final":
            cutter.finish()
    units = cutter.take()
    return text, [unit.text for unit in units], [unit.emotion for unit in units], tools


@pytest.mark.parametrize("message", MESSAGES)
async def test_every_scene_has_two_units_with_a_tool_between_a_card_and_an_emotion(
    replies: Replies, message: str
) -> None:
    reply = await replies.start(message)
    for take in (1, 2):
        if take == 2:
            await reply.regenerate()
        text, units, emotions, tools = await read(reply)
        assert len(units) == 2
        assert tools in (["calendar"], ["clock"])
        assert emotions[0] is None
        assert emotions[1]
        assert re.search(r"\n```card\n(\|.+\|\n){3,}```\n", text)
        assert "|" not in "".join(units)
        assert re.search(r"script|대본|made up|미리 만든", text)
        assert not re.search(r"[{}]|\[card\]", text)


@pytest.mark.parametrize("message", MESSAGES)
async def test_an_answer_is_in_the_language_of_the_message(replies: Replies, message: str) -> None:
    _, units, _, _ = await read(await replies.start(message))
    hangul = len(re.findall(r"[\uac00-\ud7a3]", "".join(units)))
    assert (hangul > 20) == bool(re.search(r"[\uac00-\ud7a3]", message))


@pytest.mark.parametrize("message", MESSAGES)
async def test_another_take_words_both_units_differently(replies: Replies, message: str) -> None:
    reply = await replies.start(message)
    _, first, _, first_tools = await read(reply)
    await reply.regenerate()
    _, second, _, second_tools = await read(reply)
    assert first_tools == second_tools
    assert first[0] != second[0]
    assert first[1] != second[1]


async def test_what_the_calendar_holds_is_what_is_said(replies: Replies) -> None:
    text, units, _, _ = await read(await replies.start("What is on today?"))
    entries = re.findall(r"^\| (\d\d:\d\d) \| (.+) \|$", text, re.MULTILINE)
    assert len(entries) == 3
    for _, title in entries:
        assert f"you have {title}." in units[1]


async def test_what_the_clock_shows_is_what_is_said(replies: Replies) -> None:
    _, english, _, _ = await read(await replies.start("What time is it?"))
    _, korean, _, _ = await read(await replies.start("지금 몇 시야?"))
    assert "It is five minutes past two in the afternoon." in english[1]
    assert "지금은 오후 두 시 오 분이에요." in korean[1]


@pytest.mark.parametrize("message", ["Tell me a story.", "이야기 해 줘"])
async def test_a_story_is_long_enough_to_be_interrupted(replies: Replies, message: str) -> None:
    """At least 40 seconds of speech: about 15 letters a second in English, 8 syllables in Korean."""
    _, units, _, _ = await read(await replies.start(message))
    assert len(units[1]) > 40 * (8 if message.startswith("이") else 15)


async def test_english_is_made_of_letters_and_plain_punctuation(replies: Replies) -> None:
    """A small speech recogniser knows no digits and no symbols."""
    for message in MESSAGES[:5]:
        _, units, _, _ = await read(await replies.start(message))
        for unit in units:
            assert re.fullmatch(r"[A-Za-z ,.?!'\n]+", unit.replace("[softly]", ""))


async def test_it_writes_at_the_pace_of_a_model_in_small_pieces() -> None:
    pace = CHARACTERS_PER_SECOND * 10
    reply = await Replies(agent_for(companion(pace)), now=lambda: datetime(2026, 12, 1, tzinfo=UTC)).start("Hello")
    started_s = time.monotonic()
    events = [event async for batch in await reply.events(0) for event in batch]
    pieces = [json.loads(event.data)["text"] for event in events if event.name == "delta"]
    assert time.monotonic() - started_s >= (await reply.record()).length / pace
    assert max(len(piece) for piece in pieces) <= 8
    assert 100 <= CHARACTERS_PER_SECOND <= 150


async def test_two_answers_to_one_message_in_one_conversation_go_on(replies: Replies) -> None:
    """History, with its tool calls and notes, is no obstacle to the next reply."""
    first = await replies.start("Hello", "talk")
    await read(first)
    await first.heard(10)
    _, units, _, _ = await read(await replies.start("What is on today?", "talk"))
    assert units[0] == "One moment, I will look at your calendar."


@pytest.mark.parametrize("model", ["", "nonsense", "nope:x", "openai:", ":x"])
def test_an_unknown_model_is_refused_in_one_line_that_lists_the_providers(model: str) -> None:
    with pytest.raises(UsageError) as refused:
        build_agent(model)
    message = str(refused.value)
    assert repr(model) in message
    assert "anthropic" in message
    assert "ollama" in message
    assert "\n" not in message


def test_a_model_whose_name_is_almost_right_is_suggested() -> None:
    with pytest.raises(UsageError, match="did you mean 'anthropic:claude-opus-4-8'"):
        build_agent("antropic:claude-opus-4-8")


@pytest.mark.parametrize("key", ["", None])
def test_a_model_without_its_key_is_refused_with_the_name_of_the_variable(
    monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(UsageError, match=r"anthropic:claude-opus-4-8.*ANTHROPIC_API_KEY"):
        build_agent("anthropic:claude-opus-4-8")


def test_a_model_whose_package_is_missing_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)  # Python's own way to say that there is no such module
    with pytest.raises(UsageError, match=r"'groq:x' needs a package.*pip install"):
        build_agent("groq:x")


def test_a_model_with_its_key_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    assert build_agent("anthropic:claude-opus-4-8").model is not None
