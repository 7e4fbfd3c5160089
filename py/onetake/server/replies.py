"""Replies: each is a numbered log of events that an agent's run appends to and any number of readers follow.

    replies = Replies(build_agent(None))
    reply = replies.start("What is on today?")
    async for event in reply.events(after=0):       # event.id, event.name, event.data (JSON)
        ...
    replies.get(reply.id).regenerate()

Writing goes on when nobody reads, so a reader that lost its connection comes back for the rest. All changes
of state happen at once, between two awaits: after `stop` or `regenerate` returns, nothing of the older take
is appended any more, even while that take is still being torn down. May be imported by anything in
`onetake.server`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from onetake.server.agents import Deps, local_now
from onetake.server.errors import ApiError
from onetake.server.failures import ReplyTooLong, describe
from onetake.server.transcript import Transcript, cut, well_formed

REPLIES_KEPT = 1000
"""Older replies are forgotten, and with them their part of the conversation."""

LOG_LIMIT = 4_000_000
"""Characters of JSON in one reply's log, over all its takes; a hundred times a long reply."""

RUN_LIMIT_S = 900.0
"""How long one take may be written, tools included, before it counts as stuck."""

INTERRUPTED = "(Your reply was interrupted here. The listener heard nothing after this point.)"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event of a reply: its number in the log (from 1), its name and its payload as compact JSON."""

    id: int
    name: str
    data: str


@dataclass(eq=False, slots=True)
class Conversation:
    """The replies of one conversation that are still kept, oldest first, and the runs that are not over yet.

    One reply of a conversation is written at a time: a new one stops those before it.
    """

    id: str
    replies: list[Reply] = field(default_factory=list)
    runs: set[asyncio.Task[None]] = field(default_factory=set)

    def before(self, reply: Reply) -> list[ModelMessage]:
        """What the model is shown of the conversation when it writes `reply`."""
        earlier = self.replies[: self.replies.index(reply)]
        return [message for each in earlier for message in each.history()]

    def yield_to(self, reply: Reply) -> None:
        """Stop every reply but `reply`."""
        for other in self.replies:
            if other is not reply:
                other.stop()


class Reply:
    """One answer to one message of the listener. Positions are code points of the current take's text."""

    def __init__(
        self,
        conversation: Conversation,
        text: str,
        spoken: bool,
        agent: Agent[Deps, str],
        now: Callable[[], datetime],
    ) -> None:
        self.id = secrets.token_urlsafe(12)
        self.conversation = conversation
        self.generation = 1
        self.length = 0
        self.ended = False
        self._text = well_formed(text)
        self._spoken = spoken
        self._agent = agent
        self._now = now
        self._events: list[LoggedEvent] = []
        self._size = 0
        self._news = asyncio.Event()
        self._run: asyncio.Task[None] | None = None
        self._messages: list[ModelMessage] = []
        self._finished = False
        self._heard: int | None = None

    def begin(self) -> None:
        """Write the first take. Must be called once, in a running event loop."""
        self._append("start", {"reply": self.id, "conversation": self.conversation.id})
        self._begin_take()

    def events(self, after: int) -> AsyncIterator[LoggedEvent]:
        """The events with a number above `after`, then new ones as they are written, until the take ends.

        Raises ApiError if `after` is not a number of this log (0 is: it asks for the whole).
        """
        last = len(self._events)
        if not 0 <= after <= last:
            raise ApiError(
                422,
                "bad_event_id",
                f"Last-Event-ID is {after}: it must be between 0 and {last}, the last event.",
            )
        return self._follow(after)

    async def _follow(self, position: int) -> AsyncIterator[LoggedEvent]:
        while True:
            while position < len(self._events):
                yield self._events[position]
                position += 1
            if self.ended:
                return
            await self._news.wait()

    def regenerate(self) -> int:
        """Start over with another take, also after the end; returns its generation."""
        self._abandon()
        self.generation += 1
        self.length = 0
        self.ended = False
        self._messages = []
        self._finished = False
        self._heard = None
        self._append("reset", {"at": 0})
        self._begin_take()
        return self.generation

    def stop(self) -> None:
        """Write no more. What is there stays; after the end this does nothing."""
        self._break_off("stopped", {"length": self.length})

    def shut_down(self) -> None:
        """Write no more because the server ends: as `stop`, but the readers are told that it failed."""
        message = "The server was stopped in mid-reply."
        self._break_off("error", {"code": "server_stopped", "message": message, "retryable": True})

    def heard(self, at: int, generation: int | None = None) -> None:
        """Keep in the conversation only what was heard, `[0, at)`; 0 means that nothing was.

        `generation` says which take was heard; an older one than the current is refused, as its positions
        mean nothing.
        """
        if generation is not None and generation != self.generation:
            raise ApiError(
                409,
                "stale_generation",
                f"generation is {generation}: the reply is at {self.generation}, so nothing was changed.",
                generation=self.generation,
            )
        if not 0 <= at <= self.length:
            raise ApiError(
                422,
                "bad_position",
                f"at is {at}: it must be between 0 and {self.length}, the reply's length in code points.",
                at=at,
                length=self.length,
            )
        self._heard = at

    def history(self) -> list[ModelMessage]:
        """This turn as the model is shown it later: whole if written and heard to its end, else cut."""
        heard = self.length if self._heard is None else self._heard
        messages = self._messages or [ModelRequest([UserPromptPart(self._text)])]
        if self._finished and heard == self.length:
            return messages
        return [*cut(messages, heard), ModelRequest([UserPromptPart(INTERRUPTED)])]

    def _begin_take(self) -> None:
        self.conversation.yield_to(self)
        earlier = tuple(self.conversation.runs)
        self._run = asyncio.create_task(self._write(self.generation, earlier))
        self.conversation.runs.add(self._run)
        self._run.add_done_callback(self.conversation.runs.discard)

    def _break_off(self, name: str, fields: dict[str, Any]) -> None:
        if not self.ended:
            self._abandon()
            self._end(name, fields)

    def _abandon(self) -> None:
        # Once only: a second cancellation would cut short the tearing down that the first one began.
        if self._run is not None and not self._run.cancelling():
            self._run.cancel()

    async def _write(self, generation: int, earlier: tuple[asyncio.Task[None], ...]) -> None:
        if earlier:
            await asyncio.wait(earlier)
        transcript = Transcript()
        deps = Deps(spoken=self._spoken, take=generation, now=self._now)
        try:
            async with self._agent.run_stream_events(
                self._text, message_history=self.conversation.before(self), deps=deps, timeout=RUN_LIMIT_S
            ) as events:
                try:
                    async for event in events:
                        for name, fields in transcript.feed(event):
                            if self._writes(generation):
                                self._append(name, fields)
                finally:
                    await events.aclose()
                    if generation == self.generation:
                        with suppress(UserError):  # raised if the run failed before its first message
                            self._messages = events.new_messages()
        except Exception as error:
            if self._writes(generation):
                _log.exception("Reply %s failed.", self.id)
                self._end("error", describe(error))
        else:
            if self._writes(generation):
                self._finished = True
                self._end("final", {"length": self.length})

    def _writes(self, generation: int) -> bool:
        """Whether the take of that generation is still the one to be written."""
        return generation == self.generation and not self.ended

    def _end(self, name: str, fields: dict[str, Any]) -> None:
        self._append(name, fields)
        self.ended = True

    def _append(self, name: str, fields: dict[str, Any]) -> None:
        payload = {"generation": self.generation, **fields}
        data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        if name == "delta":
            if self._size + len(data) > LOG_LIMIT:
                raise ReplyTooLong
            self.length += len(fields["text"])
        self._size += len(data)
        self._events.append(LoggedEvent(len(self._events) + 1, name, data))
        self._news.set()
        self._news = asyncio.Event()


class Replies:
    """The replies of this server, in memory; the oldest is forgotten when there are too many."""

    def __init__(
        self, agent: Agent[Deps, str], *, now: Callable[[], datetime] = local_now, kept: int = REPLIES_KEPT
    ) -> None:
        self._agent = agent
        self._now = now
        self._kept = kept
        self._replies: dict[str, Reply] = {}
        self._conversations: dict[str, Conversation] = {}

    def start(self, text: str, conversation: str | None = None, spoken: bool = True) -> Reply:
        """Begin to write a reply to `text`, at once. Must be called in a running event loop.

        A conversation that is not known (any more) starts empty under the id given. A reply of it that is
        still being written is stopped first.
        """
        key = conversation or secrets.token_urlsafe(12)
        place = self._conversations.setdefault(key, Conversation(key))
        reply = Reply(place, text, spoken, self._agent, self._now)
        place.replies.append(reply)
        self._replies[reply.id] = reply
        reply.begin()
        while len(self._replies) > self._kept:
            self._forget(next(iter(self._replies.values())))
        return reply

    def get(self, id: str) -> Reply:
        """The reply of that id; raises ApiError (404) if there is none."""
        try:
            return self._replies[id]
        except KeyError:
            raise ApiError(
                404,
                "unknown_reply",
                f"No reply has the id {id!r}: it was never begun, or is too old.",
                reply=id,
            ) from None

    async def aclose(self) -> None:
        """End all writing and wait until every run is over.

        To be called before the server waits for its connections, which then end by themselves.
        """
        for reply in self._replies.values():
            reply.shut_down()
        if runs := [run for each in self._conversations.values() for run in each.runs]:
            await asyncio.wait(runs)

    def _forget(self, reply: Reply) -> None:
        reply.stop()
        del self._replies[reply.id]
        reply.conversation.replies.remove(reply)
        if not reply.conversation.replies:
            del self._conversations[reply.conversation.id]
