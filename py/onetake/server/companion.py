"""The scripted companion: a model that needs no key and no network.

    agent = Agent(companion(), deps_type=Deps, tools=[clock, calendar])
    async with agent.run_stream_events("Tell me a story.", deps=deps) as events: ...

To the agent it is a model like any other: it sees only the messages and the instructions, streams a few
characters at a time as a language model streams tokens, and really calls the agent's tools. What it says is
in `onetake.server.scenes`. May be imported by `onetake.server.agents` only.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from onetake.server.scenes import choose

CHARACTERS_PER_SECOND = 120.0
"""Inside the 100 to 150 that hosted models write, which is about ten times as fast as speech."""

_PIECE = re.compile(r"\s*\S{1,4}|\s+")
_TAKE = re.compile(r"\btake (\d+)\b", re.IGNORECASE)


def companion(characters_per_second: float = CHARACTERS_PER_SECOND) -> FunctionModel:
    """The companion as a pydantic-ai model. `math.inf` writes without delay."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        scene = choose(_last_prompt(messages), _take(info.instructions))
        result = _tool_result(messages, scene.tool)
        text = scene.opening if result is None else scene.passage(result)
        async for piece in _typed(text, characters_per_second):
            yield piece
        if result is None:
            yield {0: DeltaToolCall(name=scene.tool, json_args=json.dumps(scene.arguments))}

    return FunctionModel(stream_function=stream, model_name="scripted")


async def _typed(text: str, characters_per_second: float) -> AsyncIterator[str]:
    """`text` in small pieces, each at its time on one schedule: a late piece does not delay the rest."""
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    written = 0
    for piece in _PIECE.findall(text):
        written += len(piece)
        await asyncio.sleep(started_s + written / characters_per_second - loop.time())
        yield piece


def _last_prompt(messages: list[ModelMessage]) -> str:
    prompts = (
        part.content
        for message in reversed(messages)
        if isinstance(message, ModelRequest)
        for part in reversed(message.parts)
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    )
    return next(prompts, "")


def _take(instructions: str | None) -> int:
    """The number of the take that the instructions ask for; a first take is not mentioned there."""
    found = _TAKE.search(instructions or "")
    return int(found[1]) if found else 1


def _tool_result(messages: list[ModelMessage], tool: str) -> dict[str, Any] | None:
    """What `tool` has just returned; `None` if the reply has not called it yet."""
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart) and part.tool_name == tool:
            return part.model_response_object()
    return None
