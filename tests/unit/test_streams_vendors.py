"""What the vendors' own packages encode, the adapters read back: the units are those that were put in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIEventStream
from pydantic_ai.ui.vercel_ai import VercelAIEventStream

from tests.unit.telling import CUTS, Told, split, tell
from tests.unit.vendors import ENCODERS, Segments


def expected(segments: Segments) -> Told:
    """What a turn of these segments comes to, computed from the rule of design 7 alone."""
    told = Told(final=True, outcome="complete")
    for pieces in segments:
        told.content += "".join(pieces)
        if told.content[sum(map(len, told.units)) :].strip():
            told.units.append(told.content[sum(map(len, told.units)) :])
            told.unit_ends.append(len(told.content))
    return told


# No "<", which may begin a thought, and no surrogates, which these packages refuse.
CHARACTERS = st.characters(exclude_characters="<", exclude_categories=["Cs"]) | st.sampled_from(" \n한👩💻\u200d\u2028")
PIECES = st.text(CHARACTERS, max_size=8)


@pytest.mark.parametrize(("protocol", "encode"), ENCODERS.values(), ids=ENCODERS)
@given(segments=st.lists(st.lists(PIECES, max_size=4), min_size=1, max_size=4), cuts=CUTS)
@settings(max_examples=40)
def test_what_a_package_encodes_is_read_back(
    protocol: str, encode: Callable[[Segments], list[bytes]], segments: Segments, cuts: list[int]
) -> None:
    assert tell(protocol, [split(body, cuts) for body in encode(segments)]) == expected(segments)


# -- pydantic-ai's own event streams, driven by an agent that calls tools ------------------------------------

SCRIPT = [["잠깐, ", "일정을 볼게. 📅 "], ["Two of ", "them. "], ["", "\n"], ["내일은 ", "비어 있어요 👨‍👩‍👧."]]


def scripted_agent() -> Agent[None, str]:
    """Says a segment of the script in each response, thinking before it, with two parallel calls after it."""

    async def write(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        step = len([message for message in messages if message.kind == "response"])
        yield {0: DeltaThinkingPart(content="Which of them?")}
        for piece in SCRIPT[step]:
            yield piece
        if step < len(SCRIPT) - 1:
            for index, name in enumerate(("first", "second")):
                yield {index + 10: DeltaToolCall(name="look", json_args="{}", tool_call_id=f"{name}-{step}")}

    agent = Agent(FunctionModel(stream_function=write))

    @agent.tool_plain
    def look() -> str:
        return "Never spoken."

    return agent


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [AGUIEventStream, VercelAIEventStream])
async def test_an_agent_of_pydantic_ai_is_read_back(stream: Any) -> None:
    protocol = {AGUIEventStream: "ag-ui", VercelAIEventStream: "ai-sdk-ui"}[stream]
    events = stream(run_input=None)
    async with scripted_agent().run_stream_events("What is on?") as native:
        chunks = [chunk.encode() async for chunk in events.encode_stream(events.transform_stream(native))]
    assert tell(protocol, [chunks]) == expected(SCRIPT)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
