"""How a run of an agent tells what happens in it while it happens.

    told = Told(asked=transcript_mark, happened=log)
    async with agent.iter("Hello", capabilities=[told]) as run:
        await told.follow(run)

The model's events are taken where they arise, at the model. pydantic-ai also hands them out at the end of a
chain of generators, at four to five times the processor time for each (0.1 ms in place of 0.03), which is what a
server of many replies would spend most of its time on. May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import AgentStreamEvent, ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.run import AgentRun
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

_log = logging.getLogger(__name__)


class Told(AbstractCapability[Any]):
    """To be given to one run. `asked` is called before each request to the model, `happened` for each event.

    A tool that raises does not end the run: the model is told that it failed, the log says why.
    """

    def __init__(
        self, asked: Callable[[], object], happened: Callable[[AgentStreamEvent], Awaitable[object]]
    ) -> None:
        self.asked = asked
        self.happened = happened
        #: The response that the model is writing, or broke off: the run's messages do not have it.
        self.unfinished: ModelResponse | None = None

    async def follow(self, run: AgentRun[Any, Any]) -> None:
        """Take the run to its end."""
        async for node in run:
            if Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as events:
                    async for event in events:
                        await self.happened(event)

    def get_wrapper_model(self, model: Model) -> Model:
        return _Streaming(model, self)

    async def on_tool_execute_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: Exception,
    ) -> Any:
        _log.error("The tool %s failed.", call.tool_name, exc_info=error)
        raise ToolFailed("The tool failed. Say so in a few words, and go on without it if you can.") from error


class _Streaming(WrapperModel):
    """Answers each request whole, but has it streamed and tells of it on the way."""

    def __init__(self, wrapped: Model, told: Told) -> None:
        super().__init__(wrapped)
        self._told = told

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        told = self._told
        told.asked()
        async with self.wrapped.request_stream(messages, model_settings, model_request_parameters) as stream:
            try:
                async for event in stream:
                    await told.happened(event)
            except BaseException:
                told.unfinished = replace(stream.get(), state="interrupted")
                raise
        return stream.get()
