"""Where replies are kept while they are written, read and remembered: in memory, or in Redis for several servers.

    store = MemoryStore()                                    # or RedisStore("redis://localhost")
    await store.create(Record("r1", "talk", "Hello", spoken=True))
    await store.append("r1", generation=1, events=[("delta", {"text": "Hi."})], length=3)
    async for batch in store.follow("r1", after=0): ...      # lists of LoggedEvent

`Store` (in `onetake.server.store.interface`) says what both promise. May be imported by anything in
`onetake.server`.
"""

from onetake.server.store.interface import (
    ENDINGS,
    LoggedEvent,
    Record,
    ReplyTooLong,
    Store,
    StoreUnavailable,
    UnknownReply,
    WireEvent,
)
from onetake.server.store.memory import MemoryStore

__all__ = [
    "ENDINGS",
    "LoggedEvent",
    "MemoryStore",
    "Record",
    "ReplyTooLong",
    "Store",
    "StoreUnavailable",
    "UnknownReply",
    "WireEvent",
]
