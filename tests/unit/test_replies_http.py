"""The reply routes over real HTTP: statuses, headers and the bytes of the stream."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from onetake.server import errors
from onetake.server.agents import agent_for
from onetake.server.companion import companion
from onetake.server.replies import Replies
from onetake.server.reply_routes import router
from onetake.streams import Delta, Final, Reset, Start, Stopped, Tool, UnitEnd, open_adapter

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 12, 1, 12, 5, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class HeldModel:
    """A model that writes "One. ", waits until it is let go, and writes "Two."; later takes do not wait."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.let_go = asyncio.Event()

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "One. "
        if not self.reached.is_set():
            self.reached.set()
            await self.let_go.wait()
        yield "Two."


@pytest.fixture
async def held() -> HeldModel:
    return HeldModel()


@pytest.fixture
async def scripted() -> AsyncIterator[httpx2.AsyncClient]:
    async for client in serve(Replies(agent_for(companion(math.inf)), now=lambda: NOON)):
        yield client


@pytest.fixture
async def client(held: HeldModel) -> AsyncIterator[httpx2.AsyncClient]:
    async for client in serve(Replies(agent_for(FunctionModel(stream_function=held.stream)))):
        yield client


async def serve(replies: Replies) -> AsyncIterator[httpx2.AsyncClient]:
    app = FastAPI()
    errors.install(app)
    app.include_router(router(replies))

    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=10) as client:
            yield client
        await replies.aclose()
        server.should_exit = True
        await serving


async def test_a_reply_streams_exactly_these_bytes(client: httpx2.AsyncClient, held: HeldModel) -> None:
    held.let_go.set()
    response = await client.post("/replies", json={"text": "Hi", "conversation": "talk"})
    location = response.headers["location"]
    reply = location.removeprefix("/replies/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.text == (
        f'event: start\ndata: {{"generation":1,"reply":"{reply}","conversation":"talk"}}\nid: 1\n\n'
        'event: delta\ndata: {"generation":1,"text":"One. "}\nid: 2\n\n'
        'event: delta\ndata: {"generation":1,"text":"Two."}\nid: 3\n\n'
        'event: final\ndata: {"generation":1,"length":9}\nid: 4\n\n'
    )


async def test_the_scripted_companion_is_read_by_our_own_adapter(scripted: httpx2.AsyncClient) -> None:
    """Both sides of the wire agree: two units, a tool between them, and positions that fit the text."""
    adapter = open_adapter("onetake")
    text = ""
    shape: list[type] = []
    ends: list[int] = []
    async with scripted.stream("POST", "/replies", json={"text": "오늘 일정 알려 줘"}) as response:
        async for chunk in response.aiter_bytes():
            for event in adapter.feed(chunk):
                if isinstance(event, Delta):
                    text += event.text
                elif isinstance(event, UnitEnd):
                    ends.append(event.at)
                if not shape or shape[-1] is not type(event):
                    shape.append(type(event))
    assert adapter.ended
    assert shape == [Start, Delta, UnitEnd, Tool, Delta, Final]
    assert text[: ends[0]].endswith("볼게요. ")


async def test_a_reader_that_lost_its_connection_gets_exactly_the_rest(
    client: httpx2.AsyncClient, held: HeldModel
) -> None:
    async with client.stream("POST", "/replies", json={"text": "Hi"}) as response:
        location = response.headers["location"]
        await held.reached.wait()
    held.let_go.set()
    rest = await client.get(f"{location}/events", headers={"Last-Event-ID": "2"})
    assert rest.text == (
        'event: delta\ndata: {"generation":1,"text":"Two."}\nid: 3\n\n'
        'event: final\ndata: {"generation":1,"length":9}\nid: 4\n\n'
    )
    whole = await client.get(f"{location}/events")
    assert whole.text.endswith(rest.text)
    assert whole.text.startswith("event: start\n")


async def test_a_message_sent_again_under_its_id_gets_the_reply_that_was_begun(
    client: httpx2.AsyncClient, held: HeldModel
) -> None:
    message = {"text": "Hi", "id": "a-message-of-the-page"}
    async with client.stream("POST", "/replies", json=message) as lost:
        await held.reached.wait()
        async with client.stream("POST", "/replies", json=message) as again:
            held.let_go.set()
            body = (await again.aread()).decode()
            assert again.headers["location"] == lost.headers["location"] == "/replies/a-message-of-the-page"
            assert body == (await lost.aread()).decode()
    assert body.count("event: start") == 1
    other = await client.post("/replies", json={**message, "text": "Bye"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "id_taken")


@pytest.mark.parametrize("id", ["short", "../../etc/passwd-----", "x" * 101, 7])
async def test_an_id_that_could_be_anothers_or_is_no_part_of_a_path_is_refused(
    client: httpx2.AsyncClient, id: object
) -> None:
    refused = await client.post("/replies", json={"text": "Hi", "id": id})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_request")


async def test_regenerate_turns_up_in_the_stream_that_is_being_read(
    client: httpx2.AsyncClient, held: HeldModel
) -> None:
    adapter = open_adapter("onetake")
    events: list[Any] = []
    async with client.stream("POST", "/replies", json={"text": "Hi"}) as response:
        location = response.headers["location"]
        await held.reached.wait()
        again = await client.post(f"{location}/regenerate")
        async for chunk in response.aiter_bytes():
            events += adapter.feed(chunk)
    assert (again.status_code, again.json()) == (200, {"generation": 2})
    assert events[1:] == [Delta("One. "), Reset(0, 2), Delta("One. "), Delta("Two."), Final()]


async def test_delete_ends_the_stream_with_stopped(client: httpx2.AsyncClient, held: HeldModel) -> None:
    adapter = open_adapter("onetake")
    events: list[Any] = []
    async with client.stream("POST", "/replies", json={"text": "Hi"}) as response:
        location = response.headers["location"]
        await held.reached.wait()
        assert (await client.delete(location)).status_code == 204
        assert (await client.delete(location)).status_code == 204
        async for chunk in response.aiter_bytes():
            events += adapter.feed(chunk)
    assert events[1:] == [Delta("One. "), Stopped(5)]


async def test_how_far_it_was_heard_is_taken_down_to_zero(
    client: httpx2.AsyncClient, held: HeldModel
) -> None:
    held.let_go.set()
    location = (await client.post("/replies", json={"text": "Hi"})).headers["location"]
    for at in (9, 0):
        heard = await client.put(f"{location}/heard", json={"at": at, "generation": 1})
        assert (heard.status_code, heard.content) == (204, b"")


async def test_silence_is_kept_alive_with_a_comment(
    client: httpx2.AsyncClient, held: HeldModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onetake.server.store.memory.PING_S", 0.01)
    async with client.stream("POST", "/replies", json={"text": "Hi"}) as response:
        lines = response.aiter_lines()
        assert ": ping" in [line async for line in up_to(lines, ": ping")]
        held.let_go.set()
        assert "event: final" in [line async for line in lines]


async def up_to(lines: AsyncIterator[str], last: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line == last:
            return


async def test_every_payload_is_compact_json_with_its_generation(scripted: httpx2.AsyncClient) -> None:
    response = await scripted.post("/replies", json={"text": "몇 시야?"})
    payloads = re.findall("^data: (.*)$", response.text, re.MULTILINE)
    assert len(payloads) > 10
    for payload in payloads:
        assert payload == json.dumps(json.loads(payload), ensure_ascii=False, separators=(",", ":"))
        assert payload.startswith('{"generation":1,')
