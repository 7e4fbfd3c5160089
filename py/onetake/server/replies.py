"""Replies: each is a numbered log of events that an agent's run appends to and any number of readers follow.

    replies = Replies(build_agent(None))                # kept in memory; or Replies(agent, RedisStore(url))
    reply = await replies.start("What is on today?")
    async for batch in await reply.events(after=0):     # of events: event.id, event.name, event.data (JSON)
        ...
    await (await replies.find(reply.id)).regenerate()

Writing goes on when nobody reads, so a reader that lost its connection comes back for the rest. After `stop` or
`regenerate` returns, nothing of the older take is logged any more, even while that take is still being torn
down and whichever server writes it. May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from onetake.server.agents import Deps, local_now
from onetake.server.errors import ApiError
from onetake.server.store import LoggedEvent, MemoryStore, Record, Store, UnknownReply
from onetake.server.take import Take
from onetake.server.transcript import cut, well_formed

INTERRUPTED = "(Your reply was interrupted here. The listener heard nothing after this point.)"


class Replies:
    """The replies in `store`, and the runs of `agent` on this server that write some of them.

    `audio_tags`: whether the voice that speaks them performs directions such as `[softly]`.
    """

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        store: Store | None = None,
        *,
        audio_tags: bool = False,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self._agent = agent
        self._store: Store = store or MemoryStore()
        self._audio_tags = audio_tags
        self._now = now
        self._takes: dict[asyncio.Task[None], Take] = {}

    async def start(
        self, text: str, conversation: str | None = None, spoken: bool = True, id: str | None = None
    ) -> Reply:
        """Begin to write a reply to `text`, at once; under an `id` that is given, only if there is none of that id.

        So who had no answer may ask again. Raises ApiError (409) if that reply is one to another text.

        A conversation that is not known (any more) starts empty under the id given. A reply of it that is
        still being written is stopped first: one is written at a time.
        """
        record = Record(id or _new_id(), conversation or _new_id(), well_formed(text), spoken)
        if await self._store.create(record):
            await self._stop(await self._before(record))
            self._write(record)
        elif (await self._store.find(record.id)).text != record.text:
            raise ApiError(409, "id_taken", f"The reply {record.id!r} answers another text: choose another id.")
        return Reply(self, self._store, record.id)

    async def find(self, id: str) -> Reply:
        """The reply of that id; raises ApiError (404) if there is none."""
        return Reply(self, self._store, (await self._store.find(id)).id)

    async def regenerate(self, id: str) -> int:
        """Begin another take of the reply; returns its generation."""
        record = await self._store.regenerate(id)
        members = await self._store.conversation(record.conversation)
        await self._stop([each for each in members if each != id])
        self._write(record)
        return record.generation

    async def aclose(self) -> None:
        """End all writing on this server and wait until every run is over.

        To be called before the server waits for its connections, which then end by themselves.
        """
        await asyncio.gather(*(take.shut_down() for take in self._takes.values()))
        if self._takes:
            await asyncio.wait(list(self._takes))
        await self._store.aclose()

    def _write(self, record: Record) -> None:
        deps = Deps(spoken=record.spoken, take=record.take, now=self._now, audio_tags=self._audio_tags)
        take = Take(self._agent, self._store, record, deps, lambda: self._history(record))
        task = take.begin()
        self._takes[task] = take
        task.add_done_callback(self._takes.pop)

    async def _history(self, record: Record) -> list[ModelMessage]:
        """What the model is shown of the conversation when it writes `record`, once no other take is written."""
        for member in await self._store.conversation(record.conversation):
            with suppress(UnknownReply):
                await self._store.vacant(member, before=record.take if member == record.id else None)
        history: list[ModelMessage] = []
        for member in await self._before(record):
            with suppress(UnknownReply):
                history += await self._turn(await self._store.find(member))
        return history

    async def _turn(self, record: Record) -> list[ModelMessage]:
        """A reply as the model is shown it later: whole if written and heard to its end, else cut."""
        heard = record.length if record.heard is None else record.heard
        messages = record.messages
        if not messages:  # its server died with them, or it was stopped before the first
            messages = [ModelRequest([UserPromptPart(record.text)])]
            if text := await self._text(record):
                messages.append(ModelResponse([TextPart(text)]))
        if record.ending == "final" and heard == record.length:
            return messages
        return [*cut(messages, heard), ModelRequest([UserPromptPart(INTERRUPTED)])]

    async def _text(self, record: Record) -> str:
        """The text of an ended reply."""
        text = ""
        async for batch in self._store.follow(record.id, after=0):
            for event in batch:
                if event.name == "delta":
                    text += json.loads(event.data)["text"]
                elif event.name == "reset":
                    text = text[: json.loads(event.data)["at"]]
        return text

    async def _before(self, record: Record) -> list[str]:
        members = await self._store.conversation(record.conversation)
        return members[: members.index(record.id)] if record.id in members else []

    async def _stop(self, replies: list[str]) -> None:
        for each in replies:
            with suppress(UnknownReply):
                await self._store.stop(each)


class Reply:
    """One answer to one message of the listener. Positions are code points of the current take's text."""

    def __init__(self, replies: Replies, store: Store, id: str) -> None:
        self.id = id
        self._replies = replies
        self._store = store

    async def record(self) -> Record:
        """What is known of it now."""
        return await self._store.find(self.id)

    async def events(self, after: int) -> AsyncIterator[list[LoggedEvent]]:
        """The events with a number above `after`, then new ones as they are written, until the take ends.

        In batches: what is there at once comes at once, and an empty batch says that nothing has come for a
        while. Raises ApiError if `after` is not a number of this log (0 is: it asks for the whole).
        """
        last = await self._store.last(self.id)
        if not 0 <= after <= last:
            raise ApiError(
                422,
                "bad_event_id",
                f"Last-Event-ID is {after}: it must be between 0 and {last}, the last event.",
            )
        return self._store.follow(self.id, after)

    async def regenerate(self) -> int:
        """Start over with another take, also after the end; returns its generation."""
        return await self._replies.regenerate(self.id)

    async def stop(self) -> None:
        """Write no more. What is there stays; after the end this does nothing."""
        await self._store.stop(self.id)

    async def heard(self, at: int, generation: int | None = None) -> None:
        """Keep in the conversation only what was heard, `[0, at)`; 0 means that nothing was.

        `generation` says which take was heard; an older one than the current is refused, as its positions
        mean nothing.
        """
        record = await self._store.find(self.id)
        if generation is not None and generation != record.generation:
            raise _stale(generation, record.generation)
        if not 0 <= at <= record.length:
            raise ApiError(
                422,
                "bad_position",
                f"at is {at}: it must be between 0 and {record.length}, the reply's length in code points.",
                at=at,
                length=record.length,
            )
        if not await self._store.hear(self.id, record.generation, at):
            raise _stale(record.generation, (await self._store.find(self.id)).generation)


def _stale(generation: int, current: int) -> ApiError:
    message = f"generation is {generation}: the reply is at {current}, so nothing was changed."
    return ApiError(409, "stale_generation", message, generation=current)


def _new_id() -> str:
    return secrets.token_urlsafe(12)
