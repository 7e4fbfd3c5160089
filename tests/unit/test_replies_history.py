"""What the model is shown of a conversation later: only what the listener heard, and always a valid
history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from onetake.server.agents import agent_for
from onetake.server.errors import ApiError
from onetake.server.replies import INTERRUPTED, Replies, Reply
from onetake.server.transcript import cut

pytestmark = pytest.mark.anyio

OPENING = "Let me 👩‍💻 look. "
ANSWER = "It is noon."
WHOLE = len(OPENING + ANSWER)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Talk:
    """A conversation with a model that looks at the clock and answers, and records what it is shown."""

    def __init__(self) -> None:
        self.shown: list[list[str]] = []
        self.held: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.replies = Replies(agent_for(FunctionModel(stream_function=self._stream)))

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            yield ANSWER[:5]
            if self.held:
                self.reached.set()
                await self.held.wait()
            yield ANSWER[5:]
            return
        self.shown.append(plain(messages))
        yield OPENING
        yield {0: DeltaToolCall(name="clock", json_args="{}")}

    async def say(self, text: str) -> Reply:
        return await self.replies.start(text, "talk")

    async def shown_after(self, text: str) -> list[str]:
        await finish(await self.say(text))
        return self.shown[-1]


async def finish(reply: Reply) -> None:
    async for _ in await reply.events(0):
        pass


def plain(messages: Sequence[ModelMessage]) -> list[str]:
    """One line for each part: who, and what."""
    lines: list[str] = []
    for part in (part for message in messages for part in message.parts):
        match part:
            case UserPromptPart(content=content):
                lines.append(f"user: {content}")
            case TextPart(content=content):
                lines.append(f"model: {content}")
            case ToolCallPart(tool_name=name):
                lines.append(f"call: {name}")
            case ToolReturnPart(tool_name=name):
                lines.append(f"result: {name}")
            case _:
                lines.append(part.part_kind)
    return lines


BEFORE_ANSWER = ["user: one", f"model: {OPENING}", "call: clock", "result: clock"]
NOTE = f"user: {INTERRUPTED}"


async def test_a_reply_heard_to_its_end_is_shown_whole() -> None:
    talk = Talk()
    reply = await talk.say("one")
    await finish(reply)
    await reply.heard(WHOLE)
    assert await talk.shown_after("two") == [*BEFORE_ANSWER, f"model: {ANSWER}", "user: two"]


async def test_a_reply_of_which_nothing_is_known_is_shown_whole() -> None:
    """A page without a voice never says what was heard."""
    talk = Talk()
    await finish(await talk.say("one"))
    assert await talk.shown_after("two") == [*BEFORE_ANSWER, f"model: {ANSWER}", "user: two"]


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (0, ["user: one", NOTE]),
        (8, ["user: one", "model: Let me 👩", NOTE]),
        (len(OPENING) - 1, ["user: one", f"model: {OPENING[:-1]}", NOTE]),
        (len(OPENING), [*BEFORE_ANSWER, NOTE]),
        (len(OPENING) + 1, [*BEFORE_ANSWER, "model: I", NOTE]),
        (WHOLE - 1, [*BEFORE_ANSWER, "model: It is noon", NOTE]),
    ],
)
async def test_a_reply_is_shown_up_to_the_code_point_that_was_heard(at: int, shown: list[str]) -> None:
    talk = Talk()
    reply = await talk.say("one")
    await finish(reply)
    await reply.heard(at)
    assert await talk.shown_after("two") == [*shown, "user: two"]


async def test_a_stopped_reply_is_shown_up_to_where_it_was_written() -> None:
    talk = Talk()
    talk.held = asyncio.Event()
    reply = await talk.say("one")
    await talk.reached.wait()
    await reply.stop()
    talk.held = None
    assert await talk.shown_after("two") == [*BEFORE_ANSWER, f"model: {ANSWER[:5]}", NOTE, "user: two"]


async def test_a_reply_stopped_before_its_first_word_is_shown_as_interrupted() -> None:
    talk = Talk()
    await (await talk.say("one")).stop()
    assert await talk.shown_after("two") == ["user: one", NOTE, "user: two"]


async def test_what_was_heard_of_an_older_take_says_nothing_about_the_new_one() -> None:
    talk = Talk()
    reply = await talk.say("one")
    await finish(reply)
    await reply.heard(0)
    await reply.regenerate()
    with pytest.raises(ApiError) as refused:
        await reply.heard(0, generation=1)
    assert (refused.value.status, refused.value.code) == (409, "stale_generation")
    await finish(reply)
    assert await talk.shown_after("two") == [*BEFORE_ANSWER, f"model: {ANSWER}", "user: two"]


async def test_a_regenerated_reply_is_not_shown_its_own_older_takes() -> None:
    talk = Talk()
    await finish(await talk.say("one"))
    reply = await talk.say("two")
    await finish(reply)
    await reply.regenerate()
    await finish(reply)
    assert talk.shown[-1] == talk.shown[-2] == [*BEFORE_ANSWER, f"model: {ANSWER}", "user: two"]


@pytest.mark.parametrize("at", [-1, WHOLE + 1])
async def test_a_position_outside_the_reply_is_refused_with_both_named(at: int) -> None:
    talk = Talk()
    reply = await talk.say("one")
    await finish(reply)
    with pytest.raises(ApiError, match=f"at is {at}.*{WHOLE}") as refused:
        await reply.heard(at)
    assert refused.value.status == 422


async def test_conversations_do_not_see_each_other() -> None:
    talk = Talk()
    await finish(await talk.say("one"))
    await finish(await talk.replies.start("two", "another"))
    assert talk.shown[-1] == ["user: two"]


def response(*parts: Any, **fields: Any) -> ModelResponse:
    return ModelResponse(parts=list(parts), **fields)


def test_a_cut_history_never_holds_a_call_without_its_result() -> None:
    """Every position of a turn with parallel calls, of which one was never answered."""
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("go")]),
        response(TextPart("ab"), ToolCallPart("x", tool_call_id="1"), ToolCallPart("x", tool_call_id="2")),
        ModelRequest(
            [ToolReturnPart("x", "done", tool_call_id="1"), ToolReturnPart("x", "done", tool_call_id="2")]
        ),
        response(ThinkingPart("hm"), TextPart("cd"), ToolCallPart("x", tool_call_id="3")),
        ModelRequest([], state="interrupted"),
    ]
    for at in range(5):
        history = cut(messages, at)
        calls = [
            part.tool_call_id for each in history for part in each.parts if isinstance(part, ToolCallPart)
        ]
        results = [
            part.tool_call_id for each in history for part in each.parts if isinstance(part, ToolReturnPart)
        ]
        text = "".join(part.content for each in history for part in each.parts if isinstance(part, TextPart))
        assert calls == results
        assert text == "abcd"[:at]


def test_an_unfinished_response_keeps_only_its_text() -> None:
    """Providers refuse thinking that is not followed by what it led to."""
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("go")]),
        response(
            ThinkingPart("hm", signature="s"), TextPart("ab", id="i", provider_name="p"), state="interrupted"
        ),
    ]
    _, kept = cut(messages, 2)
    assert kept.parts == [TextPart("ab")]


def test_the_blank_line_between_two_responses_counts_as_in_the_reply() -> None:
    messages: list[ModelMessage] = [
        ModelRequest([UserPromptPart("go")]),
        response(TextPart("ab")),
        response(TextPart("cd")),
    ]
    texts = [plain(cut(messages, at))[1:] for at in range(7)]
    assert texts == [
        [],
        ["model: a"],
        ["model: ab"],
        ["model: ab"],
        ["model: ab"],
        ["model: ab", "model: c"],
        ["model: ab", "model: cd"],
    ]
