"""A model or a tool that fails: what is tried again, and what the listener, the page and the model are told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelAuthenticationError, ModelHTTPError, ModelOverloadedError, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from onetake.server.agents import agent_for
from onetake.server.replies import Replies, Reply
from onetake.streams import Delta, Final, Reset, Tool, UnitEnd, open_adapter
from onetake.units import Cutter

pytestmark = pytest.mark.anyio

BUSY = ModelHTTPError.for_category(ModelOverloadedError, status_code=529, model_name="m")
REFUSED = ModelHTTPError.for_category(ModelAuthenticationError, status_code=401, model_name="m")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Model:
    """Answers each request with the next of `answers`: text, tool calls, and what to raise. Keeps what it was shown."""

    def __init__(self, *answers: list[Any]) -> None:
        self.shown: list[list[ModelMessage]] = []
        self._answers = answers

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.shown.append(messages)
        for item in self._answers[len(self.shown) - 1]:
            if isinstance(item, Exception):
                raise item
            yield item


async def written(model: Model, tool: Callable[[], str] | None = None) -> list[tuple[str, dict[str, Any]]]:
    """The events of the reply that `model` writes, beyond `start`."""
    agent = agent_for(FunctionModel(stream_function=model.stream))
    if tool is not None:
        agent.tool_plain(tool)
    return await read(await Replies(agent).start("Hi"))


async def read(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    return [(each.name, json.loads(each.data)) async for batch in await reply.events(1) for each in batch]


def call(name: str) -> dict[int, DeltaToolCall]:
    return {0: DeltaToolCall(name=name, json_args="{}", tool_call_id="c")}


def delta(text: str, generation: int = 1) -> tuple[str, dict[str, Any]]:
    return "delta", {"generation": generation, "text": text}


# -- the model ---------------------------------------------------------------------------------


async def test_a_failure_before_the_first_text_is_tried_again_unseen() -> None:
    model = Model([BUSY], ["Hello."])
    assert await written(model) == [delta("Hello."), ("final", {"generation": 1, "length": 6})]
    assert len(model.shown) == 2


async def test_a_failure_after_text_has_gone_out_takes_it_back_with_a_reset() -> None:
    model = Model(["Hel", BUSY], ["Hello."])
    assert await written(model) == [
        delta("Hel"),
        ("reset", {"generation": 2, "at": 0}),
        delta("Hello.", 2),
        ("final", {"generation": 2, "length": 6}),
    ]


async def test_a_failure_after_a_tool_goes_back_to_where_its_response_began_and_calls_no_tool_again() -> None:
    calls: list[str] = []

    def look() -> str:
        calls.append("look")
        return "noon"

    model = Model(["One moment. ", call("look")], ["It is n", BUSY], ["It is noon."])
    events = await written(model, look)
    assert [(name, payload.get("text") or payload.get("at")) for name, payload in events] == [
        ("delta", "One moment. "),
        ("unit_end", 12),
        ("tool", 12),
        ("tool", 12),
        ("delta", "It is n"),
        ("reset", 12),
        ("delta", "It is noon."),
        ("final", None),
    ]
    assert events[-1] == ("final", {"generation": 2, "length": 23})
    assert calls == ["look"]
    assert [type(part) for part in model.shown[2][-1].parts] == [ToolReturnPart]
    assert sum("It is n" in str(message.parts) for message in model.shown[2]) == 0


async def test_the_units_before_a_reset_are_kept_by_who_speaks_them() -> None:
    model = Model(["One moment. ", call("clock")], ["It is n", BUSY], ["It is noon."])
    agent = agent_for(FunctionModel(stream_function=model.stream))
    reply = await Replies(agent).start("Hi")
    adapter, cutter = open_adapter("onetake"), Cutter()
    async for batch in await reply.events(0):
        wire = "".join(f"event: {each.name}\ndata: {each.data}\nid: {each.id}\n\n" for each in batch)
        for event in adapter.feed(wire.encode()):
            match event:
                case Delta(text):
                    cutter.feed(text)
                case UnitEnd(at):
                    cutter.end_unit(at)
                case Reset(at):
                    cutter.reset(at)
                case Final():
                    cutter.finish()
    units = cutter.take()
    assert [(unit.start, unit.end, unit.text) for unit in units] == [(0, 12, "One moment."), (12, 23, "It is noon.")]


async def test_a_second_failure_ends_the_reply() -> None:
    model = Model([BUSY], ["Hel", BUSY], ["never asked"])
    *_, (name, payload) = await written(model)
    assert (name, payload["code"], payload["retryable"]) == ("error", "model_busy", True)
    assert len(model.shown) == 2


async def test_a_failure_that_will_not_pass_is_not_tried_again() -> None:
    model = Model([REFUSED], ["never asked"])
    ((name, payload),) = await written(model)
    assert (name, payload["code"]) == ("error", "model_auth")
    assert len(model.shown) == 1


async def test_the_next_message_is_shown_nothing_of_what_was_taken_back() -> None:
    model = Model(["Hel", BUSY], ["Hello."], ["Yes?"])
    replies = Replies(agent_for(FunctionModel(stream_function=model.stream)))
    await read(await replies.start("Hi", "talk"))
    await read(await replies.start("Well", "talk"))
    texts = [part.content for message in model.shown[2] for part in message.parts if isinstance(part, TextPart)]
    assert texts == ["Hello."]


# -- tools -------------------------------------------------------------------------------------


def results(events: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [payload["outcome"] for name, payload in events if name == "tool" and payload["phase"] == "result"]


async def test_a_tool_that_raises_is_told_to_the_model_and_to_the_page_and_the_reply_goes_on() -> None:
    def look() -> str:
        raise ZeroDivisionError("password")

    model = Model(["One moment. ", call("look")], ["That failed."])
    events = await written(model, look)
    assert results(events) == ["failed"]
    assert events[-1] == ("final", {"generation": 1, "length": 24})
    request = model.shown[1][-1]
    assert isinstance(request, ModelRequest)
    (part,) = request.parts
    assert isinstance(part, ToolReturnPart)
    assert part.outcome == "failed"
    assert "failed" in str(part.content)
    assert "password" not in str(part.content)


async def test_a_tool_that_asks_to_be_called_again_has_failed_until_it_succeeds() -> None:
    tries: list[int] = []

    def look() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ModelRetry("Say where.")
        return "noon"

    model = Model(["One moment. ", call("look")], [call("look")], ["It is noon."])
    assert results(await written(model, look)) == ["failed", "ok"]


def test_a_failed_tool_reaches_the_page() -> None:
    data = '{"generation":1,"id":"c","name":"look","phase":"result","at":0,"outcome":"failed"}'
    assert open_adapter("onetake").feed(f"event: tool\ndata: {data}\nid: 1\n\n".encode()) == [
        Tool("c", "look", "result", 0, failed=True)
    ]
