"""Several servers on one Redis: any of them resumes, stops and regenerates what another one writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from onetake.server.agents import agent_for
from onetake.server.replies import INTERRUPTED, Replies, Reply
from onetake.server.store import Record
from onetake.server.store.in_redis import RedisStore

pytestmark = pytest.mark.anyio

LEASE_S = 3.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class HeldModel:
    """Writes "One. ", waits until it is let go, and writes "Two."; says when it is cut off. Later takes do not wait."""

    def __init__(self) -> None:
        self.reached, self.let_go, self.cut_off = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.shown: list[list[ModelMessage]] = []

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        self.shown.append(messages)
        yield "One. "
        if not self.reached.is_set():
            self.reached.set()
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.cut_off.set()
                raise
        yield "Two."


@pytest.fixture
async def model() -> HeldModel:
    return HeldModel()


@pytest.fixture
async def servers(model: HeldModel, redis_url: str) -> AsyncIterator[tuple[Replies, Replies]]:
    one, other = (
        Replies(agent_for(FunctionModel(stream_function=model.stream)), RedisStore(redis_url, LEASE_S)) for _ in "12"
    )
    yield one, other
    await one.aclose()
    await other.aclose()


async def read(reply: Reply, after: int = 0) -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, json.loads(event.data)) async for batch in await reply.events(after) for event in batch]


async def test_a_reply_begun_on_one_server_is_resumed_on_the_other(
    servers: tuple[Replies, Replies], model: HeldModel
) -> None:
    one, other = servers
    reply = await one.start("Hi")
    await model.reached.wait()
    elsewhere = await other.find(reply.id)
    resumed = asyncio.create_task(read(elsewhere, after=1))
    model.let_go.set()
    whole = await read(reply)
    assert [name for name, _ in whole] == ["start", "delta", "delta", "final"]
    assert await resumed == whole[1:]
    for after in range(len(whole) + 1):
        assert whole[:after] + await read(elsewhere, after) == whole


async def test_a_stop_from_the_other_server_ends_the_run_that_writes(
    servers: tuple[Replies, Replies], model: HeldModel
) -> None:
    one, other = servers
    reply = await one.start("Hi")
    await model.reached.wait()
    await (await other.find(reply.id)).stop()
    assert (await read(reply))[-1] == ("stopped", {"generation": 1, "length": 5})
    await model.cut_off.wait()


async def test_a_regeneration_from_the_other_server_lets_nothing_of_the_old_take_through(
    servers: tuple[Replies, Replies], model: HeldModel
) -> None:
    one, other = servers
    reply = await one.start("Hi")
    await model.reached.wait()
    assert await (await other.find(reply.id)).regenerate() == 2
    await model.cut_off.wait()
    names = [(name, payload["generation"]) for name, payload in await read(reply)]
    assert names == [("start", 1), ("delta", 1), ("reset", 2), ("delta", 2), ("delta", 2), ("final", 2)]


async def test_the_next_message_on_the_other_server_knows_what_was_heard_of_the_reply_it_interrupts(
    servers: tuple[Replies, Replies], model: HeldModel
) -> None:
    one, other = servers
    reply = await one.start("Hi", "shared-talk")
    await model.reached.wait()
    elsewhere = await other.find(reply.id)
    await elsewhere.stop()
    await elsewhere.heard(3)
    await read(await other.start("Well?", "shared-talk"))
    assert texts(model.shown[-1]) == ["Hi", "One", INTERRUPTED, "Well?"]


async def test_of_a_reply_whose_server_died_the_next_message_knows_the_text_that_went_out(
    servers: tuple[Replies, Replies], model: HeldModel, redis_url: str
) -> None:
    dead = RedisStore(redis_url, lease_s=0.3)
    await dead.create(Record("lost", "lost-talk", "Hi", spoken=True))
    await dead.append("lost", 1, [("delta", {"text": "One. "}), ("delta", {"text": "Tw"})], 7)
    model.let_go.set()
    _, other = servers
    await read(await other.start("Well?", "lost-talk"))
    assert texts(model.shown[-1]) == ["Hi", "One. Tw", INTERRUPTED, "Well?"]
    await dead.aclose()


def texts(messages: list[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    assert all(isinstance(message, ModelRequest) or message.parts for message in messages)
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart | TextPart)]


async def test_a_server_that_ends_tells_the_readers_of_the_others(
    servers: tuple[Replies, Replies], model: HeldModel
) -> None:
    one, other = servers
    reply = await one.start("Hi")
    await model.reached.wait()
    reading = asyncio.create_task(read(await other.find(reply.id)))
    await one.aclose()
    name, payload = (await reading)[-1]
    assert (name, payload["code"], payload["retryable"]) == ("error", "server_stopped", True)
