"""Replies in Redis, for any number of servers: each can resume, stop or regenerate what another one writes.

A reply's events are a Redis stream whose ids are the events' numbers; what decides whether an event may be
added is checked in the same breath, by a script that Redis runs whole. Who writes is a lease that the writer
renews: if it runs out in mid-reply, whichever server notices first ends the reply with `error`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import fields
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import RedisError

from onetake.errors import UsageError
from onetake.server.store.interface import (
    ENDINGS,
    GATHER_S,
    KEPT_S,
    LOG_LIMIT,
    PING_S,
    WRITER_LOST,
    LoggedEvent,
    Record,
    ReplyTooLong,
    StoreUnavailable,
    UnknownReply,
    WireEvent,
    payload,
)
from onetake.server.store.scripts import SCRIPTS
from onetake.server.transcript import well_formed

LEASE_S = 6.0
"""How long a writer may be silent before it counts as dead; it renews its lease three times as often."""

ANSWER_S = 3.0
"""How long a Redis may take to answer when the server starts."""

LOOK_S = 0.05
"""How often those who wait for a writer to leave look again."""

_BATCH = 1000
_DISMISSED = "onetake:dismissed"
"""The channel on which servers tell each other that a take is over: "reply take"."""

_log = logging.getLogger(__name__)


def open_store(url: str) -> RedisStore:
    """The store at `url`; raises UsageError, in one line, if no Redis answers there within ANSWER_S."""
    store = RedisStore(url)
    try:
        with SyncRedis.from_url(url, socket_connect_timeout=ANSWER_S, socket_timeout=ANSWER_S) as asked:
            asked.ping()
    except (RedisError, OSError) as error:
        raise UsageError(f"no Redis answers at {_without_password(url)}: {error}") from None
    return store


class RedisStore:
    """A `Store` that servers share. `url` is as redis-py takes it: `redis://host:6379/0`, `rediss://`, `unix://`.

    Raises UsageError if it is none. Nothing connects before the first call.
    """

    def __init__(self, url: str, lease_s: float = LEASE_S) -> None:
        try:
            # RESP 2: one shape of answers over all versions of redis-py.
            self._redis: Redis = Redis.from_url(url, decode_responses=True, protocol=2)
        except ValueError as error:
            raise UsageError(f"{url!r} is no address of a Redis: {error}") from None
        self._lease_s = lease_s
        self._leaving: dict[tuple[str, int], Callable[[], object]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._scripts = {name: self._redis.register_script(code) for name, code in SCRIPTS.items()}

    async def create(self, record: Record) -> bool:
        start = payload(record.generation, {"reply": record.id, "conversation": record.conversation})
        stored = [part for field in _stored(record).items() for part in field]
        return bool(await self._run("create", record.id, record.id, record.conversation, record.take, start, *stored))

    async def find(self, id: str) -> Record:
        found: dict[str, str] = await _asked(self._redis.hgetall(_keys(id)[0]))
        if not found:
            raise UnknownReply(id)
        return Record(
            id=id,
            conversation=found["conversation"],
            text=found["text"],
            spoken=found["spoken"] == "1",
            generation=int(found["generation"]),
            take=int(found["take"]),
            length=int(found["length"]),
            ending=found["ending"] or None,
            heard=int(found["heard"]) if found["heard"] else None,
            messages=ModelMessagesTypeAdapter.validate_json(found["messages"]),
        )

    async def conversation(self, id: str) -> list[str]:
        members: list[str] = await _asked(self._redis.lrange(f"onetake:conversation:{id}", 0, -1))
        return members

    @asynccontextmanager
    async def writing(self, id: str, take: int, leave: Callable[[], object]) -> AsyncIterator[None]:
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        self._leaving[id, take] = leave
        renewing = asyncio.create_task(self._renew(id, take))
        try:
            yield
        finally:
            del self._leaving[id, take]
            await _end(renewing)
            with suppress(UnknownReply, StoreUnavailable):  # then the lease runs out by itself
                await self._run("release", id, take)

    async def vacant(self, id: str, before: int | None = None) -> None:
        while await self._run("writers", id, "" if before is None else before):  # noqa: ASYNC110  (elsewhere)
            await asyncio.sleep(LOOK_S)

    async def append(self, id: str, generation: int, events: Sequence[WireEvent], length: int) -> bool:
        ending = events[-1][0] if events[-1][0] in ENDINGS else ""
        logged = [part for name, fields in events for part in (name, payload(generation, fields))]
        done = await self._run("append", id, generation, length, ending, LOG_LIMIT, *logged)
        if done == "full":
            raise ReplyTooLong
        return bool(done == "yes")

    async def rewind(self, id: str, generation: int, at: int) -> bool:
        return bool(await self._run("rewind", id, generation, at, payload(generation + 1, {"at": at})))

    async def regenerate(self, id: str) -> Record:
        take = await self._run("regenerate", id)
        await self._dismiss(id, take - 1)
        return await self.find(id)

    async def stop(self, id: str) -> None:
        if take := await self._run("stop", id):
            await self._dismiss(id, take)

    async def hear(self, id: str, generation: int, at: int) -> bool:
        return bool(await self._run("hear", id, generation, at))

    async def save(self, id: str, take: int, messages: Sequence[ModelMessage]) -> None:
        with suppress(UnknownReply):
            await self._run("save", id, take, _json(messages))

    async def follow(self, id: str, after: int) -> AsyncIterator[list[LoggedEvent]]:
        position, silent_s = after, 0.0
        look_s = self._lease_s / 2
        over = await self._over(id, position)
        while not over:
            # A blocking read has a connection of its own, as its reader has one to us.
            asked = self._redis.xread({_keys(id)[1]: f"{position}-0"}, _BATCH, block=round(look_s * 1000))
            found = await _asked(asked)
            if found:
                batch = [_event(number, fields) for number, fields in found[0][1]]
                position, silent_s = batch[-1].id, 0.0
                yield batch
                over = batch[-1].name in ENDINGS and await self._over(id, position)
                if batch[-1].name == "delta":
                    await asyncio.sleep(GATHER_S)  # Redis wakes readers for anything, so here all waits
            else:
                silent_s += look_s
                if silent_s >= PING_S:
                    silent_s = 0.0
                    yield []
                over = await self._over(id, position)

    async def last(self, id: str) -> int:
        number = await _asked(self._redis.hget(_keys(id)[0], "last"))
        if number is None:
            raise UnknownReply(id)
        return int(number)

    async def aclose(self) -> None:
        if self._listening is not None:
            await _end(self._listening)
        await self._redis.aclose()

    async def _over(self, id: str, position: int) -> bool:
        """Whether no event will follow the one at `position`. Ends the reply first if its writer is lost."""
        lost = payload(0, WRITER_LOST).removeprefix('{"generation":0')
        try:
            return bool(await self._run("over", id, position, lost))
        except UnknownReply:
            return True

    async def _renew(self, id: str, take: int) -> None:
        """Keep the lease; leave if the take is over, in case the word of it was lost."""
        while True:
            try:
                if not await self._run("renew", id, take):
                    self._leave(id, take)
            except UnknownReply:
                self._leave(id, take)
            except StoreUnavailable:
                _log.warning("The lease on reply %s could not be renewed.", id)
            await asyncio.sleep(self._lease_s / 3)

    async def _dismiss(self, id: str, take: int) -> None:
        self._leave(id, take)
        await _asked(self._redis.publish(_DISMISSED, f"{id} {take}"))

    def _leave(self, id: str, take: int) -> None:
        if leave := self._leaving.get((id, take)):
            leave()

    async def _listen(self) -> None:
        """Pass on, as long as the store is open, what other servers say is over."""
        while True:
            try:
                async with self._redis.pubsub() as channel:
                    await channel.subscribe(_DISMISSED)
                    async for message in channel.listen():
                        if message["type"] == "message":
                            reply, take = message["data"].split(" ")
                            self._leave(reply, int(take))
            except (RedisError, OSError) as error:
                # Until it is back, a take that is over is noticed when its lease is renewed.
                _log.warning("Redis cannot be listened to: %s", error)
                await asyncio.sleep(self._lease_s / 3)

    async def _run(self, name: str, id: str, *arguments: Any) -> Any:
        result = await _asked(self._scripts[name](_keys(id), [KEPT_S, round(self._lease_s * 1000), *arguments]))
        if result == "unknown":
            raise UnknownReply(id)
        return result


async def _asked(answer: Awaitable[Any]) -> Any:
    """What Redis answers; StoreUnavailable if it does not."""
    try:
        return await answer
    except (RedisError, OSError) as error:
        _log.warning("Redis does not answer: %s", error)
        raise StoreUnavailable from error


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel `task`, again if need be: redis-py swallows a cancellation that comes while it connects."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=LOOK_S)


def _json(messages: Sequence[ModelMessage]) -> str:
    plain = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return well_formed(json.dumps(plain, ensure_ascii=False))


def _without_password(url: str) -> str:
    return re.sub("//[^/]*@", "//", url)


def _keys(id: str) -> list[str]:
    """Of a reply: its record, its events, and its writers with the times at which their leases run out."""
    return [f"onetake:reply:{id}{part}" for part in ("", ":events", ":writers")]


def _stored(record: Record) -> dict[Any, Any]:
    plain = {each.name: getattr(record, each.name) for each in fields(record)}
    del plain["id"]
    plain["spoken"] = int(record.spoken)
    plain["messages"] = _json(record.messages)
    plain |= {"last": 0, "characters": 0}
    return {name: "" if value is None else str(value) for name, value in plain.items()}


def _event(number: str, fields: dict[str, str]) -> LoggedEvent:
    ((name, data),) = fields.items()
    return LoggedEvent(int(number.partition("-")[0]), name, data)
