"""What a store of replies promises, whichever it is. Imported through `onetake.server.store`.

A reply is a log of numbered events and a record. Two numbers say who may write: `generation`, raised by every
`reset`, guards each append, so that nothing of an older one is logged any more; `take`, raised by every
regeneration, says whose turn it is, so that the writer of an older one can be told to leave.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_ai.messages import ModelMessage

from onetake.server.errors import ApiError

WireEvent = tuple[str, dict[str, Any]]
"""A name and the payload beyond `generation`, as design section 6 lists them."""

ENDINGS = ("final", "stopped", "error")
"""The events after which no further one comes, unless the reply is regenerated."""

LOG_LIMIT = 4_000_000
"""Characters of JSON in one reply's log, over all its takes; a hundred times a long reply."""

KEPT_S = 24 * 3600
"""How long a reply is kept after it last changed, and with it its part of the conversation."""

PING_S = 15.0
"""How long a reader waits for an event before it is told that there is none (design 6)."""

GATHER_S = 0.05
"""How long text is gathered after readers were given some. To pass it on is a third of what it costs, and nobody
sees 50 ms. Only text waits: a voice waits for the events that end a unit."""

WRITER_LOST: dict[str, Any] = {
    "code": "writer_lost",
    "message": "The server that wrote this reply has gone away in the middle of it. Have it written anew.",
    "retryable": True,
}


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class UnknownReply(ApiError):
    """The store has no such reply (any more)."""

    def __init__(self, id: str) -> None:
        message = f"No reply has the id {id!r}: it was never begun, or is too old."
        super().__init__(404, "unknown_reply", message, reply=id)


class StoreUnavailable(ApiError):
    """The store cannot be reached."""

    def __init__(self) -> None:
        message = "The server cannot reach the place where it keeps replies. Try again in a moment."
        super().__init__(503, "store_unavailable", message)


class ReplyTooLong(Exception):
    """The log of one reply is full: its model writes on and on."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event of a reply: its number in the log (from 1), its name and its payload as compact JSON."""

    id: int
    name: str
    data: str


@dataclass(slots=True)
class Record:
    """What is kept of a reply next to its log. `length` and `heard` are code points of the current text.

    `text` is the listener's message. `ending` is the name of the event that ended the reply, None while it is
    written. `heard` is None as long as nobody has said how far the reply was heard, which is not the same as
    0: nothing. `messages` are what the current take added to the model's conversation.
    """

    id: str
    conversation: str
    text: str
    spoken: bool
    generation: int = 1
    take: int = 1
    length: int = 0
    ending: str | None = None
    heard: int | None = None
    messages: list[ModelMessage] = field(default_factory=list)


class Store(Protocol):
    """Keeps replies. Every method is atomic; those that name a reply raise UnknownReply if it is not there.

    All may raise StoreUnavailable.
    """

    async def create(self, record: Record) -> bool:
        """Keep a new reply, at the end of its conversation, with its first event, `start`.

        Does nothing and returns False if there is one of that id.
        """

    async def find(self, id: str) -> Record:
        """The record as it is now."""

    async def conversation(self, id: str) -> list[str]:
        """The ids of the replies of a conversation, oldest first; some may no longer be kept."""

    def writing(self, id: str, take: int, leave: Callable[[], object]) -> AbstractAsyncContextManager[None]:
        """Be the writer of that take until the context ends.

        `leave` is called, once, as soon as it is no longer that take's turn: it was stopped or regenerated, on
        whichever server. A writer that dies without a word is noticed, and its readers are told `error`.
        """

    async def vacant(self, id: str, before: int | None = None) -> None:
        """Wait until nobody writes a take of this reply, or none below `before`."""

    async def append(self, id: str, generation: int, events: Sequence[WireEvent], length: int) -> bool:
        """Log `events`, after which the text has `length` code points. An ending ends the reply.

        Does nothing and returns False if the reply has ended or is at another generation. Raises ReplyTooLong,
        but never for an ending.
        """

    async def rewind(self, id: str, generation: int, at: int) -> bool:
        """`append` a `reset` to `at`, with which the next generation begins within the same take."""

    async def regenerate(self, id: str) -> Record:
        """Begin the next take and generation from scratch with a `reset` to 0. Also after the end."""

    async def stop(self, id: str) -> None:
        """End the reply with `stopped` where it is; after the end this does nothing."""

    async def hear(self, id: str, generation: int, at: int) -> bool:
        """Take down how far the reply was heard; False if it is at another generation."""

    async def save(self, id: str, take: int, messages: Sequence[ModelMessage]) -> None:
        """Keep what the take added to the model's conversation, unless another take has begun."""

    def follow(self, id: str, after: int) -> AsyncIterator[list[LoggedEvent]]:
        """The events numbered above `after`, then new ones as they come, until the reply has ended.

        What is there at once comes at once, in one list, and so does text that is written within `GATHER_S`. An
        empty list says that nothing came for `PING_S`.
        """

    async def last(self, id: str) -> int:
        """The number of the last event."""

    async def aclose(self) -> None:
        """Give back what the store holds. To be called after the last writer has left."""


def payload(generation: int, fields: dict[str, Any]) -> str:
    """The JSON of an event, as it goes over the wire."""
    return _COMPACT.encode({"generation": generation, **fields})
