"""Replies in this process's memory, within bounds: a number of replies, bytes of events, an age."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage

from onetake.server.store.interface import (
    ENDINGS,
    GATHER_S,
    KEPT_S,
    LOG_LIMIT,
    PING_S,
    LoggedEvent,
    Record,
    ReplyTooLong,
    UnknownReply,
    WireEvent,
    payload,
)

REPLIES_KEPT = 1000
BYTES_KEPT = 256_000_000

_EVENT_BYTES = 100
"""What a LoggedEvent takes besides its data: the object, its number, its place in the log."""


@dataclass(slots=True, eq=False)
class _Kept:
    """One reply: its record, its log, who writes it, who waits for news, when they last had some, and when they
    get the text that is being gathered."""

    record: Record
    changed_s: float
    events: list[LoggedEvent] = field(default_factory=list)
    characters: int = 0
    bytes: int = 0
    writers: dict[int, Callable[[], object]] = field(default_factory=dict)
    waiting: set[asyncio.Future[bool]] = field(default_factory=set)
    told_s: float = 0.0
    telling: asyncio.TimerHandle | None = None


class MemoryStore:
    """A `Store` of one server. Beyond its bounds the replies that were left alone longest are forgotten.

    `kept` bounds the number of replies, `kept_bytes` their logs together; `clock` counts seconds.
    """

    def __init__(
        self,
        kept: int = REPLIES_KEPT,
        kept_bytes: int = BYTES_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = kept
        self._limit_bytes = kept_bytes
        self._clock = clock
        self._replies: dict[str, _Kept] = {}  # in the order of their last change
        self._conversations: dict[str, list[str]] = {}
        self._bytes = 0

    async def create(self, record: Record) -> bool:
        if record.id in self._replies:
            return False
        kept = self._replies[record.id] = _Kept(record, self._clock())
        self._conversations.setdefault(record.conversation, []).append(record.id)
        self._log(kept, [("start", {"reply": record.id, "conversation": record.conversation})])
        while len(self._replies) > self._limit:
            self._forget_oldest()
        return True

    async def find(self, id: str) -> Record:
        return replace(self._kept(id).record)

    async def conversation(self, id: str) -> list[str]:
        return list(self._conversations.get(id, ()))

    @asynccontextmanager
    async def writing(self, id: str, take: int, leave: Callable[[], object]) -> AsyncIterator[None]:
        kept = self._kept(id)
        kept.writers[take] = leave
        if take != kept.record.take or kept.record.ending:
            leave()
        try:
            yield
        finally:
            del kept.writers[take]
            self._tell(kept)

    async def vacant(self, id: str, before: int | None = None) -> None:
        kept = self._kept(id)
        while any(before is None or take < before for take in kept.writers):
            await self._news(kept)

    async def append(self, id: str, generation: int, events: Sequence[WireEvent], length: int) -> bool:
        kept = self._kept(id)
        if not _writes(kept.record, generation):
            return False
        ending = events[-1][0] if events[-1][0] in ENDINGS else None
        if ending is None and kept.characters > LOG_LIMIT:
            raise ReplyTooLong
        kept.record.length = length
        kept.record.ending = ending
        self._log(kept, events)
        return True

    async def rewind(self, id: str, generation: int, at: int) -> bool:
        kept = self._kept(id)
        if not _writes(kept.record, generation):
            return False
        self._reset(kept, at)
        return True

    async def regenerate(self, id: str) -> Record:
        kept = self._kept(id)
        record = kept.record
        self._dismiss(kept)
        record.take += 1
        record.messages = []
        self._reset(kept, 0)
        return replace(record)

    async def stop(self, id: str) -> None:
        self._stop(self._kept(id))

    async def hear(self, id: str, generation: int, at: int) -> bool:
        kept = self._kept(id)
        if generation != kept.record.generation:
            return False
        kept.record.heard = at
        return True

    async def save(self, id: str, take: int, messages: Sequence[ModelMessage]) -> None:
        with suppress(UnknownReply):
            kept = self._kept(id)
            if take == kept.record.take:
                kept.record.messages = list(messages)

    async def follow(self, id: str, after: int) -> AsyncIterator[list[LoggedEvent]]:
        kept = self._kept(id)
        position = after
        while True:
            if position < len(kept.events):
                batch = kept.events[position:]
                position = len(kept.events)
                yield batch
            elif kept.record.ending:
                return
            elif not await self._news(kept):
                yield []

    async def last(self, id: str) -> int:
        return len(self._kept(id).events)

    async def aclose(self) -> None:
        """There is nothing to give back."""

    def _kept(self, id: str) -> _Kept:
        while self._replies and next(iter(self._replies.values())).changed_s < self._clock() - KEPT_S:
            self._forget_oldest()
        try:
            return self._replies[id]
        except KeyError:
            raise UnknownReply(id) from None

    def _log(self, kept: _Kept, events: Sequence[WireEvent]) -> None:
        generation = kept.record.generation
        for name, fields in events:
            event = LoggedEvent(len(kept.events) + 1, name, payload(generation, fields))
            kept.events.append(event)
            kept.characters += len(event.data)
            size = sys.getsizeof(event.data) + _EVENT_BYTES
            kept.bytes += size
            self._bytes += size
        kept.changed_s = self._clock()
        if self._replies.pop(kept.record.id, None):
            self._replies[kept.record.id] = kept  # now the last in line
        if events[-1][0] == "delta":
            self._tell_of_text(kept)
        else:
            self._tell(kept)
        while self._bytes > self._limit_bytes and len(self._replies) > 1:
            self._forget_oldest()

    async def _news(self, kept: _Kept) -> bool:
        """Wait for news; False if there were none for PING_S."""
        loop = asyncio.get_running_loop()
        news: asyncio.Future[bool] = loop.create_future()
        kept.waiting.add(news)
        timer = loop.call_later(PING_S, _say, news, False)
        try:
            return await news
        finally:
            timer.cancel()
            kept.waiting.discard(news)

    def _tell(self, kept: _Kept) -> None:
        """Wake all who wait, now."""
        if kept.telling is not None:
            kept.telling.cancel()
            kept.telling = None
        kept.told_s = asyncio.get_running_loop().time()
        for news in kept.waiting:
            _say(news, True)

    def _tell_of_text(self, kept: _Kept) -> None:
        """Wake all who wait, as soon as the last news are GATHER_S old."""
        if kept.telling is None:
            loop = asyncio.get_running_loop()
            if kept.told_s + GATHER_S <= loop.time():
                self._tell(kept)
            else:
                kept.telling = loop.call_at(kept.told_s + GATHER_S, self._tell, kept)

    def _reset(self, kept: _Kept, at: int) -> None:
        record = kept.record
        record.generation += 1
        record.length, record.ending, record.heard = at, None, None
        self._log(kept, [("reset", {"at": at})])

    def _stop(self, kept: _Kept) -> None:
        if kept.record.ending is None:
            kept.record.ending = "stopped"
            self._log(kept, [("stopped", {"length": kept.record.length})])
            self._dismiss(kept)

    def _dismiss(self, kept: _Kept) -> None:
        if leave := kept.writers.get(kept.record.take):
            leave()

    def _forget_oldest(self) -> None:
        self._forget(next(iter(self._replies.values())))

    def _forget(self, kept: _Kept) -> None:
        del self._replies[kept.record.id]
        self._stop(kept)
        self._bytes -= kept.bytes
        members = self._conversations[kept.record.conversation]
        members.remove(kept.record.id)
        if not members:
            del self._conversations[kept.record.conversation]


def _say(news: asyncio.Future[bool], said: bool) -> None:
    if not news.done():
        news.set_result(said)


def _writes(record: Record, generation: int) -> bool:
    return record.ending is None and record.generation == generation
