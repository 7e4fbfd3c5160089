"""`onetake serve MODULE:AGENT`: any agent of the user's own, or one line on why not."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from onetake.errors import UsageError
from onetake.server.agents import agent_for
from onetake.server.cli import main
from onetake.server.own_agent import load_agent
from onetake.server.replies import Replies

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 12, 1, 12, 5, tzinfo=UTC)

MODULE = """
from dataclasses import dataclass
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from onetake.server.agents import Deps

@dataclass
class Shop:
    name: str = "corner"

@dataclass
class Secret:
    key: str

agent = Agent(TestModel(custom_output_text="Hello from my own agent."), instructions="Sell.")
class Inner:
    agent = agent
modelless = Agent()
numbers = Agent(TestModel(), output_type=int)
shop = Agent(TestModel(), deps_type=Shop)
ours = Agent(TestModel(), deps_type=Deps)
secret = Agent(TestModel(), deps_type=Secret)
text = "agent"
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A current directory with modules of the user's own."""
    (tmp_path / "my_app.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "my_broken_app.py").write_text("import json\njson.nope", encoding="utf-8")
    (tmp_path / "my_hungry_app.py").write_text("import not_installed_here", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("my_app", "my_broken_app", "my_hungry_app"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["my_app:agent", "my_app:Inner.agent", "my_app:shop", "my_app:ours"])
def test_an_agent_is_found_in_a_module_of_the_current_directory(name: str) -> None:
    assert isinstance(load_agent(name, None), Agent)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my_app", "'my_app' names no agent: write MODULE:AGENT"),
        (":agent", "write MODULE:AGENT"),
        ("my_ap:agent", "there is no module 'my_ap'"),
        ("my_app.deeper:agent", "there is no module 'my_app.deeper'"),
        ("my_broken_app:agent", "'my_broken_app' cannot be imported: AttributeError: .*nope"),
        ("my_hungry_app:agent", "cannot be imported: .*not_installed_here"),
        ("my_app:agnet", "has no 'agnet'; there is: agent, modelless"),
        ("my_app:text", "my_app:text is a str, not a pydantic-ai Agent"),
        ("my_app:modelless", "has no model.*--model"),
        ("my_app:numbers", "output_type be str"),
        ("my_app:secret", r"deps that cannot be made without arguments \(Secret: .*key"),
    ],
)
def test_what_cannot_write_replies_is_refused_in_one_line(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        load_agent(name, None)
    assert "\n" not in str(refused.value)


def test_a_named_model_replaces_the_agents_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    for name in ("my_app:modelless", "my_app:agent"):
        agent = load_agent(name, "openai:gpt-5.2")
        assert getattr(agent.model, "model_name", None) == "gpt-5.2"


def test_the_command_refuses_with_status_2() -> None:
    result = CliRunner().invoke(main, ["serve", "my_app:agnet", "--no-browser"])
    assert result.exit_code == 2
    assert "has no 'agnet'" in result.stderr


def test_the_command_takes_the_options_of_the_plain_call_before_it_and_after_it() -> None:
    for line in (["--voice", "nobody", "serve", "my_app:agent"], ["serve", "my_app:agent", "--voice", "nobody"]):
        result = CliRunner().invoke(main, line)
        assert result.exit_code == 2
        assert "'nobody'" in result.stderr


def test_an_address_that_is_none_of_a_redis_is_refused() -> None:
    result = CliRunner().invoke(main, ["--no-browser", "--redis", "nonsense"])
    assert result.exit_code == 2
    assert "'nonsense'" in result.stderr


async def test_an_own_agent_writes_the_reply() -> None:
    reply = await Replies(load_agent("my_app:agent", None)).start("Hi")
    events = [event async for batch in await reply.events(0) for event in batch]
    assert events[-1].name == "final"
    assert "own" in "".join(event.data for event in events)


# -- what any agent is told --------------------------------------------------------------------


async def told(agent_of: Any, audio_tags: bool, spoken: bool = True) -> str:
    seen: list[str] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        seen.append(info.instructions or "")
        yield "Hi."

    replies = Replies(agent_of(FunctionModel(stream_function=stream)), audio_tags=audio_tags, now=lambda: NOON)
    reply = await replies.start("Hi", spoken=spoken)
    async for _ in await reply.events(0):
        pass
    return seen[0]


AGENTS = [agent_for, lambda model: Agent(model, instructions="Sell."), lambda model: Agent(model, deps_type=type(None))]


@pytest.mark.parametrize("agent_of", AGENTS)
async def test_every_agent_is_told_of_cards_emotions_and_only_then_of_audio_tags(agent_of: Any) -> None:
    plain, expressive = await told(agent_of, audio_tags=False), await told(agent_of, audio_tags=True)
    assert "`card`" in plain
    assert "[emotion:warm]" in plain
    assert "[softly]" not in plain
    assert "[softly]" in expressive


async def test_an_own_agent_keeps_its_own_instructions() -> None:
    assert (await told(AGENTS[1], audio_tags=False)).startswith("Sell.")


async def test_a_reply_that_is_only_read_needs_none_of_it() -> None:
    assert await told(AGENTS[1], audio_tags=True, spoken=False) == "Sell."
