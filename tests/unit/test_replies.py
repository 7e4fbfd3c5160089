"""A reply is a numbered log that one run writes and any number of readers follow."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
)
from pydantic_ai.messages import (
    ModelMessage,
    NativeToolCallPart,
    NativeToolReturnPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

from onetake.server.agents import agent_for
from onetake.server.companion import companion
from onetake.server.errors import ApiError
from onetake.server.replies import Replies, Reply
from onetake.server.store import MemoryStore

pytestmark = pytest.mark.anyio

Script = Callable[[list[ModelMessage]], AsyncIterator[Any]]
NOON = datetime(2026, 12, 1, 12, 5, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def replies_by(script: Script, kept: int = 10) -> Replies:
    """Replies whose model is `script`: it gets the messages and yields text, tool calls or thinking."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        async for item in script(messages):
            yield item

    return Replies(agent_for(FunctionModel(stream_function=stream)), MemoryStore(kept), now=lambda: NOON)


def called(messages: list[ModelMessage]) -> bool:
    """Whether the model is asked to go on after a tool call."""
    return any(isinstance(part, ToolReturnPart) for part in messages[-1].parts)


def call(id: str, index: int = 0, name: str = "clock") -> dict[int, DeltaToolCall]:
    return {index: DeltaToolCall(name=name, json_args="{}", tool_call_id=id)}


async def read(reply: Reply, after: int = 0) -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, json.loads(event.data)) async for batch in await reply.events(after) for event in batch]


async def beyond_start(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    """The events without `start` and without the generation, which must be 1 throughout."""
    events = await read(reply)
    assert all(payload.pop("generation") == 1 for _, payload in events)
    return events[1:]


def texts(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(payload["text"] for name, payload in events if name == "delta")


class Gate:
    """Holds a model at a place until the test lets it go on, and tells when it is there."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.opened.wait()


def tool(id: str, phase: str, at: int, name: str = "clock") -> tuple[str, dict[str, Any]]:
    call = {"id": id, "name": name, "phase": phase, "at": at}
    return "tool", call if phase == "call" else {**call, "outcome": "ok"}


def delta(text: str) -> tuple[str, dict[str, Any]]:
    return "delta", {"text": text}


async def test_the_log_of_a_reply_is_exactly_this() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        if called(messages):
            yield "It is "
            yield "noon\u2028. 👩‍💻"
        else:
            yield "Let me "
            yield "look. "
            yield call("c1")

    reply = await replies_by(script).start("What time is it?", "talk")
    assert [(event.id, event.name, event.data) async for batch in await reply.events(0) for event in batch] == [
        (1, "start", f'{{"generation":1,"reply":"{reply.id}","conversation":"talk"}}'),
        (2, "delta", '{"generation":1,"text":"Let me "}'),
        (3, "delta", '{"generation":1,"text":"look. "}'),
        (4, "unit_end", '{"generation":1,"at":13}'),
        (5, "tool", '{"generation":1,"id":"c1","name":"clock","phase":"call","at":13}'),
        (6, "tool", '{"generation":1,"id":"c1","name":"clock","phase":"result","at":13,"outcome":"ok"}'),
        (7, "delta", '{"generation":1,"text":"It is "}'),
        (8, "delta", '{"generation":1,"text":"noon\u2028. 👩‍💻"}'),
        (9, "final", '{"generation":1,"length":29}'),
    ]


async def test_tools_at_the_start_and_in_parallel_end_no_empty_units() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        if len(messages) == 1:
            yield call("c1")
            yield call("c2", index=1)
        elif len(messages) == 3:
            yield "\n\n"
            yield call("c3")
        elif len(messages) == 5:
            yield "Now."
            yield call("c4")
        else:
            yield "Done."

    assert await beyond_start(await replies_by(script).start("Hi")) == [
        tool("c1", "call", 0),
        tool("c2", "call", 0),
        tool("c1", "result", 0),
        tool("c2", "result", 0),
        delta("\n\n"),
        tool("c3", "call", 2),
        tool("c3", "result", 2),
        delta("Now."),
        ("unit_end", {"at": 6}),
        tool("c4", "call", 6),
        tool("c4", "result", 6),
        delta("Done."),
        ("final", {"length": 11}),
    ]


async def test_a_tool_that_the_provider_runs_ends_a_unit_too() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "Searching. "
        yield {0: NativeToolCallPart("web_search", {"query": "x"}, tool_call_id="n1")}
        yield {1: NativeToolReturnPart("web_search", "found", tool_call_id="n1")}
        yield "Found."

    assert await beyond_start(await replies_by(script).start("Hi")) == [
        delta("Searching. "),
        ("unit_end", {"at": 11}),
        tool("n1", "call", 11, "web_search"),
        tool("n1", "result", 11, "web_search"),
        delta("Found."),
        ("final", {"length": 17}),
    ]


async def test_thinking_is_no_part_of_the_reply() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield {0: DeltaThinkingPart(content="secret plan")}
        yield "Hello."

    assert await beyond_start(await replies_by(script).start("Hi")) == [delta("Hello."), ("final", {"length": 6})]


async def test_lone_surrogates_from_the_listener_or_the_model_break_nothing() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "You said: \ud83d"
        yield str(messages[-1].parts[-1].content)  # type: ignore[union-attr]

    assert await beyond_start(await replies_by(script).start("\ude00!")) == [
        delta("You said: \ufffd"),
        delta("\ufffd!"),
        ("final", {"length": 13}),
    ]


async def test_a_model_that_fails_ends_the_reply_with_an_error_that_tells_no_secrets() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "So far"
        raise ModelHTTPError.for_category(
            ModelAuthenticationError,
            status_code=401,
            model_name="some-model",
            body={"error": "bad key sk-12345"},
        )

    (text, (name, payload)) = await beyond_start(await replies_by(script).start("Hi"))
    assert text == delta("So far")
    assert name == "error"
    assert payload["code"] == "model_auth"
    assert not payload["retryable"]
    assert "sk-12345" not in payload["message"]
    assert "\n" not in payload["message"]


@pytest.mark.parametrize(
    ("category", "status", "code", "retryable"),
    [
        (ModelAuthenticationError, 401, "model_auth", False),
        (ModelNotFoundError, 404, "model_unknown", False),
        (ModelContextWindowExceededError, 400, "conversation_too_long", False),
        (ModelRequestRejectedError, 400, "model_refused", False),
        (ModelQuotaExceededError, 402, "model_quota", False),
        (ModelRateLimitError, 429, "model_busy", True),
        (ModelOverloadedError, 529, "model_busy", True),
        (ModelServerError, 500, "model_error", True),
        (None, 418, "model_error", True),
    ],
)
async def test_what_a_provider_answers_tells_whether_to_try_again(
    category: Any, status: int, code: str, retryable: bool
) -> None:
    error = ModelHTTPError.for_category(category, status_code=status, model_name="m")

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        if messages:
            raise error
        yield ""

    ((name, payload),) = await beyond_start(await replies_by(script).start("Hi"))
    assert (name, payload["code"], payload["retryable"]) == ("error", code, retryable)


async def test_a_bug_ends_the_reply_with_a_retryable_error() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "So far"
        raise ZeroDivisionError("password")

    name, payload = (await beyond_start(await replies_by(script).start("Hi")))[-1]
    assert (name, payload["code"], payload["retryable"]) == ("error", "reply_failed", True)
    assert "password" not in payload["message"]


async def test_a_model_that_never_ends_is_broken_off() -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        while True:
            yield "x" * 100_000

    name, payload = (await beyond_start(await replies_by(script).start("Hi")))[-1]
    assert (name, payload["code"]) == ("error", "reply_too_long")


async def test_a_model_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "So far"
        await asyncio.Event().wait()

    monkeypatch.setattr("onetake.server.take.RUN_LIMIT_S", 0.02)
    text, (name, payload) = await beyond_start(await replies_by(script).start("Hi"))
    assert text == delta("So far")
    assert (name, payload["code"], payload["retryable"]) == ("error", "model_unreachable", True)


async def test_any_reader_gets_exactly_what_comes_after_the_event_it_names() -> None:
    replies = Replies(agent_for(companion(math.inf)), now=lambda: NOON)
    reply = await replies.start("What is on today?")
    whole = await read(reply)
    for after in range(len(whole) + 1):
        assert await read(reply, after) == whole[after:]


async def test_readers_at_different_places_see_the_same_events_live() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        await gate()
        yield "Two."

    reply = await replies_by(script).start("Hi")
    first = asyncio.create_task(read(reply))
    await gate.reached.wait()
    second = asyncio.create_task(read(reply, after=2))
    gate.opened.set()
    assert (
        (await first)[2:]
        == await second
        == [
            ("delta", {"generation": 1, "text": "Two."}),
            ("final", {"generation": 1, "length": 9}),
        ]
    )


async def test_a_reply_is_written_to_its_end_when_its_reader_goes_away() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        await gate()
        yield "Two."

    reply = await replies_by(script).start("Hi")
    reader = asyncio.create_task(read(reply))
    await gate.reached.wait()
    reader.cancel()
    gate.opened.set()
    assert (await read(reply))[-1] == ("final", {"generation": 1, "length": 9})


@pytest.mark.parametrize("after", [-1, 9999])
async def test_reading_after_an_event_that_never_was_is_refused(after: int) -> None:
    reply = await Replies(agent_for(companion(math.inf)), now=lambda: NOON).start("Hi")
    await read(reply)
    with pytest.raises(ApiError, match=f"Last-Event-ID is {after}"):
        await reply.events(after)


async def test_regenerating_at_any_event_lets_nothing_of_the_old_take_through() -> None:
    """The old take is held at each of its steps in turn and would go on at once if it were still read."""
    for held in range(5):
        gate = Gate()
        takes: list[int] = []

        async def script(
            messages: list[ModelMessage], gate: Gate = gate, takes: list[int] = takes, held: int = held
        ) -> AsyncIterator[Any]:
            takes += [] if called(messages) else [len(takes) + 1]
            for step in range(4):
                if takes[-1] == 1 and step == held:
                    await gate()
                yield f"take {takes[-1]} "
            if not called(messages):
                yield call("c")

        reply = await replies_by(script).start("Hi")
        reader = asyncio.create_task(read(reply))
        if held < 4:
            await gate.reached.wait()
        else:
            await reader
        assert await reply.regenerate() == 2
        gate.opened.set()
        events = await (reader if held < 4 else asyncio.create_task(read(reply)))
        reset = events.index(("reset", {"generation": 2, "at": 0}))
        assert all(payload["generation"] == 1 for _, payload in events[:reset])
        assert all(payload["generation"] == 2 for _, payload in events[reset:])
        assert "take 1" not in str(events[reset:])
        assert events[-1] == ("final", {"generation": 2, "length": 56})


async def test_the_new_take_begins_only_when_the_old_one_is_gone() -> None:
    writing, leaving = Gate(), Gate()
    order: list[str] = []

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        order.append("begins")
        yield "Hi."
        if order == ["begins"]:
            try:
                await writing()
            finally:
                with anyio.CancelScope(shield=True):
                    await leaving()
                order.append("is gone")

    reply = await replies_by(script).start("Hi")
    await writing.reached.wait()
    await reply.regenerate()
    await leaving.reached.wait()
    reader = asyncio.create_task(read(reply))
    leaving.opened.set()
    await reader
    assert order == ["begins", "is gone", "begins"]


async def test_regenerating_after_the_end_goes_on_in_the_same_log() -> None:
    replies = Replies(agent_for(companion(math.inf)), now=lambda: NOON)
    reply = await replies.start("Tell me a story.")
    first = await read(reply)
    await reply.regenerate()
    again = await read(reply, after=len(first))
    assert again[0] == ("reset", {"generation": 2, "at": 0})
    assert again[-1] == ("final", {"generation": 2, "length": (await reply.record()).length})
    assert texts(again) != texts(first)


async def test_a_stopped_reply_keeps_its_text_and_says_so_once() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        await gate()
        yield "Two."

    reply = await replies_by(script).start("Hi")
    await gate.reached.wait()
    await reply.stop()
    await reply.stop()
    gate.opened.set()
    assert (await beyond_start(reply)) == [delta("One. "), ("stopped", {"length": 5})]


async def test_stopping_after_the_end_changes_nothing() -> None:
    reply = await Replies(agent_for(companion(math.inf)), now=lambda: NOON).start("Hello")
    whole = await read(reply)
    await reply.stop()
    assert await read(reply) == whole


async def test_a_new_message_stops_the_reply_before_it() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        if len(messages) == 1:
            await gate()

    replies = replies_by(script)
    first = await replies.start("Hi", "talk")
    await gate.reached.wait()
    second = await replies.start("Well?", "talk")
    assert (await read(first))[-1] == ("stopped", {"generation": 1, "length": 5})
    assert (await read(second))[-1] == ("final", {"generation": 1, "length": 5})


async def test_regenerating_an_older_reply_stops_the_one_being_written() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        if len(messages) > 1:
            await gate()

    replies = replies_by(script)
    first = await replies.start("Hi", "talk")
    await read(first)
    second = await replies.start("Well?", "talk")
    await gate.reached.wait()
    await first.regenerate()
    assert (await read(second))[-1][0] == "stopped"
    assert (await read(first))[-1] == ("final", {"generation": 2, "length": 5})


async def test_replies_of_other_conversations_go_on() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        await gate()

    replies = replies_by(script)
    first = await replies.start("Hi", "talk")
    await gate.reached.wait()
    second = await replies.start("Hi", "another")
    gate.opened.set()
    assert (await read(first))[-1][0] == (await read(second))[-1][0] == "final"


async def test_the_oldest_reply_is_forgotten_and_stopped() -> None:
    gate = Gate()

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        await gate()

    replies = replies_by(script, kept=1)
    first = await replies.start("Hi")
    reading = asyncio.create_task(read(first))
    await gate.reached.wait()
    second = await replies.start("Hi")
    assert (await reading)[-1][0] == "stopped"
    assert (await replies.find(second.id)).id == second.id
    with pytest.raises(ApiError) as refused:
        await replies.find(first.id)
    assert (refused.value.status, refused.value.code) == (404, "unknown_reply")
    await replies.aclose()


async def test_closing_tells_the_readers_and_waits_until_every_run_is_over() -> None:
    gate = Gate()
    over: list[str] = []

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        yield "One. "
        try:
            await gate()
        finally:
            over.append("over")

    replies = replies_by(script)
    reply = await replies.start("Hi")
    await gate.reached.wait()
    await replies.aclose()
    assert over == ["over"]
    name, payload = (await read(reply))[-1]
    assert (name, payload["code"], payload["retryable"]) == ("error", "server_stopped", True)


async def test_each_take_is_told_its_number_and_whether_it_is_spoken() -> None:
    seen: list[str] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        seen.append(info.instructions or "")
        yield "Hi."

    replies = Replies(agent_for(FunctionModel(stream_function=stream)))
    spoken = await replies.start("Hi")
    await read(spoken)
    await read(await replies.start("Hi", spoken=False))
    await spoken.regenerate()
    await read(spoken)
    first, silent, second = seen
    assert "read aloud" in first
    assert "read aloud" not in silent
    assert "take 2" in second
    assert "take 1" not in first


async def test_the_prompt_reaches_the_model_as_it_was_written() -> None:
    seen: list[object] = []

    async def script(messages: list[ModelMessage]) -> AsyncIterator[Any]:
        seen.extend(part.content for part in messages[0].parts if isinstance(part, UserPromptPart))
        yield "Hi."

    await read(await replies_by(script).start("  안녕 👩‍💻\n"))
    assert seen == ["  안녕 👩‍💻\n"]
