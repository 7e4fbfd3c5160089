"""What every store of replies promises, held against each: the one in memory and the one in a real Redis."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart

from onetake.errors import UsageError
from onetake.server.store import LoggedEvent, MemoryStore, Record, ReplyTooLong, Store, StoreUnavailable, UnknownReply
from onetake.server.store.in_redis import RedisStore, open_store

pytestmark = pytest.mark.anyio

LEASE_S = 3.0  # renewed every second, which a busy machine may put off for two


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "redis"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    store = MemoryStore() if request.param == "memory" else RedisStore(request.getfixturevalue("redis_url"), LEASE_S)
    yield store
    await store.aclose()


@pytest.fixture
async def reply(store: Store) -> str:
    """A reply that has only begun."""
    return await begun(store)


async def begun(store: Store, conversation: str | None = None) -> str:
    reply = secrets.token_hex(4)
    await store.create(Record(reply, conversation or secrets.token_hex(4), "안녕", spoken=True))
    return reply


async def read(store: Store, id: str, after: int = 0) -> list[LoggedEvent]:
    return [event async for batch in store.follow(id, after) for event in batch]


def delta(text: str) -> tuple[str, dict[str, Any]]:
    return "delta", {"text": text}


async def write(store: Store, id: str) -> list[LoggedEvent]:
    """The events of a reply of two takes, the first rewound once."""
    await store.append(id, 1, [delta("One. ")], 5)
    await store.append(id, 1, [("unit_end", {"at": 5}), ("tool", {"id": "c", "phase": "call"})], 5)
    await store.append(id, 1, [delta("Tw")], 7)
    assert await store.rewind(id, 1, 5)
    await store.append(id, 2, [delta("Two\u2028 👩‍💻"), ("final", {"length": 12})], 12)
    await store.regenerate(id)
    await store.append(id, 3, [delta("Anew.")], 5)
    await store.append(id, 3, [("final", {"length": 5})], 5)
    return await read(store, id)


async def test_the_log_is_what_was_appended_numbered_from_one(store: Store, reply: str) -> None:
    conversation = (await store.find(reply)).conversation
    assert await write(store, reply) == [
        LoggedEvent(number, name, data)
        for number, (name, data) in enumerate(
            [
                ("start", f'{{"generation":1,"reply":"{reply}","conversation":"{conversation}"}}'),
                ("delta", '{"generation":1,"text":"One. "}'),
                ("unit_end", '{"generation":1,"at":5}'),
                ("tool", '{"generation":1,"id":"c","phase":"call"}'),
                ("delta", '{"generation":1,"text":"Tw"}'),
                ("reset", '{"generation":2,"at":5}'),
                ("delta", '{"generation":2,"text":"Two\u2028 👩‍💻"}'),
                ("final", '{"generation":2,"length":12}'),
                ("reset", '{"generation":3,"at":0}'),
                ("delta", '{"generation":3,"text":"Anew."}'),
                ("final", '{"generation":3,"length":5}'),
            ],
            start=1,
        )
    ]


async def test_any_prefix_and_what_is_read_after_it_are_the_whole(store: Store, reply: str) -> None:
    whole = await write(store, reply)
    for after in range(len(whole) + 1):
        assert whole[:after] + await read(store, reply, after) == whole
    assert await store.last(reply) == len(whole)


async def test_a_reader_that_leaves_at_any_event_while_it_is_written_misses_nothing(store: Store, reply: str) -> None:
    """Each event is read by a connection of its own, which was waiting for it or comes later."""
    read_so_far: list[LoggedEvent] = []

    async def read_one_at_a_time() -> None:
        while True:
            async for batch in store.follow(reply, len(read_so_far)):
                read_so_far.append(batch[0])
                break
            else:
                return

    async with store.writing(reply, 1, lambda: None):
        reader = asyncio.create_task(read_one_at_a_time())
        for number in range(20):
            await store.append(reply, 1, [delta(str(number)), delta("!")], number)
            await asyncio.sleep(0)
        await store.append(reply, 1, [("final", {"length": 20})], 20)
        await reader
    assert read_so_far == await read(store, reply)
    assert len(read_so_far) == 42


async def test_nothing_of_an_older_generation_is_logged(store: Store, reply: str) -> None:
    await store.regenerate(reply)
    assert not await store.append(reply, 1, [delta("old")], 3)
    assert not await store.rewind(reply, 1, 0)
    assert await store.append(reply, 2, [delta("new")], 3)
    assert [event.name for event in (await write_end(store, reply, 2))] == ["start", "reset", "delta", "final"]


async def write_end(store: Store, id: str, generation: int) -> list[LoggedEvent]:
    await store.append(id, generation, [("final", {"length": 3})], 3)
    return await read(store, id)


async def test_nothing_is_logged_after_the_end(store: Store, reply: str) -> None:
    await store.append(reply, 1, [delta("One.")], 4)
    await store.stop(reply)
    await store.stop(reply)
    assert not await store.append(reply, 1, [delta("more")], 8)
    last = (await read(store, reply))[-1]
    assert (last.id, last.name, last.data) == (3, "stopped", '{"generation":1,"length":4}')


async def test_a_stop_tells_the_writer_to_leave(store: Store, reply: str) -> None:
    left = asyncio.Event()
    async with store.writing(reply, 1, left.set):
        await store.stop(reply)
        await left.wait()


async def test_a_regeneration_tells_the_writer_to_leave_and_the_next_waits_until_it_has(
    store: Store, reply: str
) -> None:
    left = asyncio.Event()
    async with store.writing(reply, 1, left.set):
        await store.regenerate(reply)
        await left.wait()
        waiting = asyncio.create_task(store.vacant(reply, before=2))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done
    await waiting


async def test_a_writer_that_comes_late_is_told_at_once(store: Store, reply: str) -> None:
    await store.regenerate(reply)
    left = asyncio.Event()
    async with store.writing(reply, 1, left.set):
        await left.wait()


async def test_what_was_heard_is_of_one_generation(store: Store, reply: str) -> None:
    assert (await store.find(reply)).heard is None
    assert await store.hear(reply, 1, 0)
    assert (await store.find(reply)).heard == 0
    await store.regenerate(reply)
    assert not await store.hear(reply, 1, 0)
    assert (await store.find(reply)).heard is None


async def test_a_conversation_is_its_replies_in_order(store: Store) -> None:
    conversation = secrets.token_hex(4)
    replies = [await begun(store, conversation) for _ in range(3)]
    assert await store.conversation(conversation) == replies
    assert await store.conversation("nobody") == []


MESSAGES: list[ModelMessage] = [
    ModelRequest([UserPromptPart("안녕 👩‍💻")]),
    ModelResponse([TextPart("Let me look."), ToolCallPart("clock", {"a": 1}, tool_call_id="c")], state="interrupted"),
]


async def test_messages_come_back_as_they_were_saved(store: Store, reply: str) -> None:
    await store.save(reply, 1, MESSAGES)
    assert (await store.find(reply)).messages == MESSAGES


async def test_messages_of_an_older_take_are_not_kept(store: Store, reply: str) -> None:
    await store.regenerate(reply)
    await store.save(reply, 1, MESSAGES)
    assert (await store.find(reply)).messages == []


async def test_a_record_tells_how_the_reply_stands(store: Store, reply: str) -> None:
    await store.append(reply, 1, [delta("One.")], 4)
    found = await store.find(reply)
    assert (found.text, found.spoken, found.length, found.ending, found.take) == ("안녕", True, 4, None, 1)
    await store.append(reply, 1, [("error", {"code": "x"})], 4)
    assert (await store.find(reply)).ending == "error"
    again = await store.regenerate(reply)
    assert (again.generation, again.take, again.length, again.ending) == (2, 2, 0, None)


async def test_a_log_without_end_is_refused_but_not_its_ending(
    store: Store, reply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("memory", "in_redis"):
        monkeypatch.setattr(f"onetake.server.store.{module}.LOG_LIMIT", 1000)
    await store.append(reply, 1, [delta("x" * 1000)], 1000)
    with pytest.raises(ReplyTooLong):
        await store.append(reply, 1, [delta("x")], 1001)
    assert await store.append(reply, 1, [("error", {"code": "reply_too_long"})], 1000)


async def test_silence_is_told(store: Store, reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("memory", "in_redis"):
        monkeypatch.setattr(f"onetake.server.store.{module}.PING_S", 0.01)
    async with store.writing(reply, 1, lambda: None):
        async for batch in store.follow(reply, after=1):
            assert batch == []
            break


async def test_a_reply_is_created_once(store: Store, reply: str) -> None:
    await store.append(reply, 1, [delta("One.")], 4)
    before = await store.find(reply)
    assert not await store.create(Record(reply, "elsewhere", "other", spoken=False))
    assert await store.find(reply) == before
    assert await store.last(reply) == 2
    assert await store.conversation("elsewhere") == []


async def test_an_unknown_reply_is_refused_by_name(store: Store) -> None:
    with pytest.raises(UnknownReply, match="'nope'"):
        await store.find("nope")
    with pytest.raises(UnknownReply):
        await store.append("nope", 1, [delta("x")], 1)
    with pytest.raises(UnknownReply):
        await store.stop("nope")
    with pytest.raises(UnknownReply):
        await store.last("nope")


# -- memory ------------------------------------------------------------------------------------


async def test_memory_forgets_the_reply_left_alone_longest_when_there_are_too_many() -> None:
    store = MemoryStore(kept=2)
    first, second = await begun(store), await begun(store)
    await store.append(first, 1, [delta("still here")], 10)
    await begun(store)
    assert (await store.find(first)).id == first
    with pytest.raises(UnknownReply):
        await store.find(second)


async def test_memory_forgets_when_the_logs_grow_too_large_and_stops_who_writes_them() -> None:
    store = MemoryStore(kept_bytes=10_000)
    first = await begun(store)
    reading = asyncio.create_task(read(store, first))
    left = asyncio.Event()
    async with store.writing(first, 1, left.set):
        await asyncio.sleep(0)
        second = await begun(store)
        await store.append(second, 1, [delta("x" * 10_000)], 10_000)
        assert left.is_set()
    assert (await reading)[-1].name == "stopped"
    assert (await store.find(second)).length == 10_000


async def test_memory_forgets_what_is_old() -> None:
    now_s = 0.0
    store = MemoryStore(clock=lambda: now_s)
    old = await begun(store)
    now_s = 25 * 3600.0
    with pytest.raises(UnknownReply):
        await store.find(old)
    assert await store.conversation("nobody") == []


async def test_memory_gives_text_together_and_what_ends_a_unit_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onetake.server.store.memory.GATHER_S", 3600)
    store = MemoryStore()
    reply = await begun(store)
    batches = aiter(store.follow(reply, after=0))
    assert [event.name for event in await anext(batches)] == ["start"]
    waiting = asyncio.ensure_future(anext(batches))
    await asyncio.sleep(0)
    for text in ("One. ", "Two. "):
        await store.append(reply, 1, [delta(text)], 10)
    done, _ = await asyncio.wait([waiting], timeout=0.01)
    assert not done
    await store.append(reply, 1, [("unit_end", {"at": 10})], 10)
    assert [event.name for event in await waiting] == ["delta", "delta", "unit_end"]


async def test_memory_gives_gathered_text_when_its_time_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onetake.server.store.memory.GATHER_S", 0.01)
    store = MemoryStore()
    reply = await begun(store)
    batches = aiter(store.follow(reply, after=1))
    for text in ("One. ", "Two. "):
        waiting = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0)
        await store.append(reply, 1, [delta(text)], 10)
        assert len(await waiting) == 1


# -- redis -------------------------------------------------------------------------------------


async def test_redis_lets_nothing_live_for_ever(redis_url: str) -> None:
    store = RedisStore(redis_url, LEASE_S)
    reply = await begun(store, "fleeting")
    await write(store, reply)
    async with store.writing(reply, 2, lambda: None):
        keys = [key async for key in store._redis.scan_iter(f"*{reply}*")] + ["onetake:conversation:fleeting"]
        assert len(keys) == 4
        assert all([await store._redis.pttl(key) > 0 for key in keys])
    await store.aclose()


async def test_redis_readers_of_a_writer_that_died_are_told_in_the_time_of_its_lease(redis_url: str) -> None:
    """Several servers notice; one error is logged."""
    dead, first, second = (RedisStore(redis_url, lease_s=0.3) for _ in range(3))
    reply = await begun(dead)
    await dead.append(reply, 1, [delta("One.")], 4)
    for events in await asyncio.gather(read(first, reply), read(second, reply), read(second, reply, after=2)):
        assert events[-1].id == 3
        assert events[-1].name == "error"
        assert '"code":"writer_lost"' in events[-1].data
        assert '"retryable":true' in events[-1].data
    assert not await dead.append(reply, 1, [delta("back again")], 14)
    for store in (dead, first, second):
        await store.aclose()


async def test_redis_a_writer_that_is_silent_for_longer_than_its_lease_keeps_it(redis_url: str) -> None:
    lease_s = 1.5
    store = RedisStore(redis_url, lease_s)
    reply = await begun(store)
    async with store.writing(reply, 1, lambda: None):
        reading = asyncio.create_task(read(store, reply))
        done, _ = await asyncio.wait([reading], timeout=2 * lease_s)
        assert not done
        await store.append(reply, 1, [("final", {"length": 0})], 0)
        assert (await reading)[-1].name == "final"
    await store.aclose()


def test_a_redis_that_does_not_answer_is_told_when_the_server_starts_and_its_password_is_not() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and not listening
        port = bound.getsockname()[1]
        with pytest.raises(UsageError) as refusal:
            open_store(f"redis://me:secret@127.0.0.1:{port}/0")
    assert f"no Redis answers at redis://127.0.0.1:{port}/0: " in str(refusal.value)
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


async def test_redis_out_of_reach_is_said() -> None:
    store = RedisStore("unix:///nowhere/redis.sock")
    with pytest.raises(StoreUnavailable):
        await store.find("x")
    with pytest.raises(StoreUnavailable):
        await begun(store)
    await store.aclose()
