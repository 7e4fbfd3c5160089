"""One take of a reply being written: an agent's run, told to the reply's log as it goes.

    take = Take(agent, store, record, deps, before=replies_before_it)
    await take.write()          # returns when it has ended, was stopped or another take has begun

A model that fails in mid-reply is asked once more for the response it broke off; tools are not called again for
it. If some of that response has gone out, a `reset` takes it back to where the response began. May be imported by
`onetake.server.replies` only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import AgentStreamEvent, ModelMessage, ModelResponse

from onetake.server.agents import Deps, begin_run
from onetake.server.failures import describe, may_pass
from onetake.server.store import Record, Store, StoreUnavailable, UnknownReply, WireEvent
from onetake.server.telling import Told
from onetake.server.transcript import Transcript

RUN_LIMIT_S = 900.0
"""How long one run may go on, tools included, before it counts as stuck."""

SHUT_DOWN = {"code": "server_stopped", "message": "The server was stopped in mid-reply.", "retryable": True}

History = Callable[[], Awaitable[list[ModelMessage]]]

_logger = logging.getLogger(__name__)


class _Over(Exception):
    """It is no longer this take's turn, and the word of it is still on its way."""


class Take:
    """Writes the take that `record` is at. `history` is asked for what the model is to know when it begins."""

    def __init__(
        self, agent: AbstractAgent[Any, Any], store: Store, record: Record, deps: Deps, history: History
    ) -> None:
        self._agent = agent
        self._store = store
        self._reply = record.id
        self._take = record.take
        self._generation = record.generation
        self._prompt = record.text
        self._deps = deps
        self._history = history
        self._transcript = Transcript()
        self._response_start = self._transcript.mark()
        self._messages: list[ModelMessage] = []
        self._unfinished: ModelResponse | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> asyncio.Task[None]:
        """Write, in a task of its own."""
        self._task = asyncio.create_task(self._write())
        return self._task

    async def shut_down(self) -> None:
        """Write no more because the server ends: the readers are told that it failed."""
        with suppress(UnknownReply, StoreUnavailable):
            await self._log(("error", SHUT_DOWN))
        self._leave()

    def _leave(self) -> None:
        # Once only: a second cancellation would cut short the tearing down that the first one began.
        if self._task is not None and not self._task.cancelling():
            self._task.cancel()

    async def _write(self) -> None:
        # Forgotten meanwhile, so nobody reads it; or out of reach, where its lease runs out and tells the readers.
        with suppress(UnknownReply, StoreUnavailable):
            async with self._store.writing(self._reply, self._take, self._leave):
                try:
                    await self._run()
                finally:
                    unfinished = [self._unfinished] if self._unfinished else []
                    await self._store.save(self._reply, self._take, [*self._messages, *unfinished])

    async def _run(self) -> None:
        try:
            history = await self._history()
            try:
                await self._ask(history)
            except Exception as error:
                if not may_pass(error) or not await self._take_back():
                    raise
                _logger.warning("Reply %s: the model failed and is asked once more (%r).", self._reply, error)
                await self._ask(history)
        except Exception as error:
            if await self._log(("error", describe(error))):
                _logger.exception("Reply %s failed.", self._reply)
        else:
            await self._log(("final", {"length": self._transcript.length}))

    async def _ask(self, history: list[ModelMessage]) -> None:
        """Have the agent write on after `history` and the messages there are, to the end of the reply."""
        kept = self._messages
        prompt = None if kept else self._prompt
        told = Told(self._asked, self._happened)
        try:
            async with begin_run(self._agent, prompt, [*history, *kept], self._deps, told, RUN_LIMIT_S) as run:
                try:
                    await told.follow(run)
                finally:
                    with suppress(UserError):  # raised if the run failed before its first message
                        self._messages = [*kept, *run.new_messages()]
        finally:
            self._unfinished = told.unfinished  # known once the run's own tasks are over

    def _asked(self) -> None:
        self._response_start = self._transcript.mark()

    async def _happened(self, event: AgentStreamEvent) -> None:
        logged = list(self._transcript.feed(event))
        if logged and not await self._log(*logged):
            raise _Over

    async def _take_back(self) -> bool:
        """Undo the response that broke off; False if the reply is no longer ours to write."""
        self._unfinished = None
        if self._transcript.mark() == self._response_start:
            return True
        self._transcript.rewind(self._response_start)
        if not await self._store.rewind(self._reply, self._generation, self._transcript.length):
            return False
        self._generation += 1
        return True

    async def _log(self, *events: WireEvent) -> bool:
        return await self._store.append(self._reply, self._generation, events, self._transcript.length)
