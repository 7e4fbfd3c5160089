"""The speech routes over an engine that does exactly what a test tells it to."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import uvicorn
from fastapi import FastAPI

from onetake.server.errors import install
from onetake.server.speech import routes
from onetake.server.speech.engine import Alignment, Audio, EngineError, Limit, Voice
from onetake.server.speech.places import Places
from onetake.server.speech.routes import router

pytestmark = pytest.mark.anyio

T = TypeVar("T")

BROKEN = EngineError("engine_failed", "The engine broke.")
SOUND = Audio(b"\1\2" * 2400, 24_000)  # 100 ms


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def soon(event: Awaitable[T]) -> T:
    """What will happen; that it does not is a failure instead of a hang."""
    return await asyncio.wait_for(event, 10)


class Rehearsed:
    """An engine that plays what it is given: pieces, errors, and events that it waits for."""

    def __init__(self, *play: Audio | Alignment | EngineError | asyncio.Event, **voice: Any) -> None:
        self.play = play
        self.asked: list[tuple[str, str, float]] = []
        self.begun = asyncio.Event()
        self.closed = asyncio.Event()
        self.now = self.most = 0
        facts = {"limit": Limit(100, "characters"), "concurrency": 2, **voice}
        self.voices = (Voice("test", "Test", "rehearsed", ("en",), 24_000, False, "none", **facts),)

    async def warm(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def synthesise(
        self, text: str, voice: str, speed: float
    ) -> AsyncGenerator[Audio | Alignment, None]:
        self.asked.append((text, voice, speed))
        self.begun.set()
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for each in self.play:
                if isinstance(each, EngineError):
                    raise each
                if isinstance(each, asyncio.Event):
                    await each.wait()
                else:
                    yield each
        finally:
            self.now -= 1
            self.closed.set()


class Listener:
    """One HTTP request, made of the application without a network, that reads as it comes and may leave."""

    def __init__(self, *engines: Rehearsed, path: str = "/speech", **body: Any) -> None:
        self.app = FastAPI()
        self.app.include_router(router(engines))
        install(self.app)
        self.path = path
        self.reads: asyncio.Event | None = None  # before it, nothing of the body is taken
        self.body = json.dumps(body).encode() if body else b""

    def of(self, other: Listener) -> Listener:
        """This request, made of the same application as the other one."""
        self.app = other.app
        return self

    def start(self) -> Listener:
        self.status = 0
        self.received = b""
        self.waiting = asyncio.Event()  # the application has read the request and listens for our leaving
        self.one_line = asyncio.Event()
        self.gone = asyncio.Event()
        self.asked = False
        self.task = asyncio.create_task(self._run())
        return self

    async def done(self) -> Listener:
        await soon(self.task)
        return self

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.received.decode().split("\n") if line]

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.received)["error"]
        return error

    async def _run(self) -> None:
        method = "POST" if self.body else "GET"
        headers = [(b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "method": method,
            "path": self.path,
            "query_string": b"",
            "headers": headers,
        }
        await self.app(scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        self.waiting.set()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = dict(message["headers"])
        else:
            if self.reads is not None:
                await self.reads.wait()
            self.received += message["body"]
            if b"\n" in self.received:
                self.one_line.set()


async def speak(*engines: Rehearsed, **body: Any) -> Listener:
    return await Listener(*engines, **body).start().done()


async def test_voices_tell_what_they_can_do() -> None:
    listener = await Listener(Rehearsed(), path="/voices").start().done()
    assert json.loads(listener.received) == [
        {
            "id": "test",
            "name": "Test",
            "engine": "rehearsed",
            "languages": ["en"],
            "sample_rate": 24_000,
            "audio_tags": False,
            "timing": "none",
            "limit": {"value": 100, "unit": "characters"},
            "concurrency": 2,
            "speeds": [0.5, 2.0],
        }
    ]


async def test_voices_tell_what_their_engine_has_learned() -> None:
    engine = Rehearsed()
    listener = await Listener(engine, path="/voices").start().done()
    engine.voices = (replace(engine.voices[0], timing="char", concurrency=9),)
    again = await Listener(path="/voices").of(listener).start().done()
    (voice,) = json.loads(again.received)
    assert (voice["timing"], voice["concurrency"]) == ("char", 9)


async def test_a_take_is_lines_of_audio_and_an_end() -> None:
    alignment = Alignment(["H", "i"], [0.0, 0.1], [0.1, 0.2])
    engine = Rehearsed(SOUND, alignment, SOUND)
    listener = await speak(engine, text="Hi", speed=1.5)
    audio = {"audio": base64.b64encode(SOUND.samples).decode(), "rate": 24_000, "channels": 1}
    assert listener.lines == [
        audio,
        {"alignment": {"chars": ["H", "i"], "starts": [0.0, 0.1], "ends": [0.1, 0.2]}},
        audio,
        {"end": True, "seconds": 0.2},
    ]
    assert listener.headers[b"content-type"] == b"application/x-ndjson"
    assert engine.asked == [("Hi", "test", 1.5)]


async def test_the_text_reaches_the_engine_as_it_was_sent() -> None:
    engine = Rehearsed()
    text = "  [softly] 안녕.\n\nRest 😀\t"
    await speak(engine, text=text)
    assert engine.asked[0][0] == text


async def test_a_long_piece_comes_in_short_blocks() -> None:
    piece = Audio(bytes(range(256)) * 375, 24_000, channels=2)  # 1 s
    listener = await speak(Rehearsed(piece), text="Hi")
    blocks = [base64.b64decode(line["audio"]) for line in listener.lines[:-1]]
    assert b"".join(blocks) == piece.samples
    assert [len(block) for block in blocks] == [24_000 * 4 // 5] * 5


async def test_an_empty_take_is_an_end_at_zero_seconds() -> None:
    listener = await speak(Rehearsed(), text="👍")
    assert (listener.status, listener.lines) == (200, [{"end": True, "seconds": 0.0}])


async def test_the_first_line_is_sent_before_the_engine_has_finished() -> None:
    gate = asyncio.Event()
    listener = Listener(Rehearsed(SOUND, gate, SOUND), text="Hi").start()
    await soon(listener.one_line.wait())
    assert len(listener.lines) == 1
    gate.set()
    assert len((await listener.done()).lines) == 3


async def test_an_engine_that_fails_before_sound_gives_a_status() -> None:
    listener = await speak(Rehearsed(BROKEN), text="Hi")
    assert listener.status == 502
    assert listener.error == {"code": "engine_failed", "message": "The engine broke."}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("engine_timeout", 504),
        ("engine_busy", 503),
        ("too_many_concurrent", 503),
        ("text_too_long", 413),
        ("key_refused", 502),
        ("quota_exceeded", 502),
        ("bad_audio", 502),
    ],
)
async def test_the_status_tells_what_kind_of_failure_it_is(code: str, status: int) -> None:
    listener = await speak(Rehearsed(EngineError(code, "So it is.")), text="Hi")
    assert listener.status == status
    assert listener.error == {"code": code, "message": "So it is."}


async def test_an_engine_that_fails_amid_the_take_ends_it_with_the_error() -> None:
    listener = await speak(Rehearsed(SOUND, BROKEN), text="Hi")
    assert listener.status == 200
    assert listener.lines[1:] == [{"error": {"code": "engine_failed", "message": "The engine broke."}}]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"text": ""}, 422, {"code": "empty_text"}),
        ({"text": " \n\t"}, 422, {"code": "empty_text"}),
        ({"text": "Hi", "voice": "nobody"}, 404, {"code": "unknown_voice", "voices": ["test"]}),
        ({"text": "Hi", "speed": 0}, 422, {"code": "bad_speed", "minimum": 0.5, "maximum": 2.0}),
        ({"text": "Hi", "speed": -1}, 422, {"code": "bad_speed"}),
        ({"text": "Hi", "speed": 2.01}, 422, {"code": "bad_speed"}),
        ({"text": "Hi", "speed": float("nan")}, 422, {"code": "bad_speed"}),
        ({"text": "Hi", "speed": float("inf")}, 422, {"code": "bad_speed"}),
        ({"text": "Hi", "speed": "fast"}, 422, {"code": "bad_request"}),
        ({"text": ["Hi"]}, 422, {"code": "bad_request"}),
        ({"text": "\ud800"}, 422, {"code": "bad_request"}),
        ({"txt": "Hi"}, 422, {"code": "bad_request"}),
        (
            {"text": "😀" * 101},
            413,
            {"code": "text_too_long", "limit": 100, "unit": "characters", "length": 101},
        ),
    ],
)
async def test_a_bad_order_is_refused_and_nothing_is_synthesised(
    body: dict[str, Any], status: int, error: dict[str, Any]
) -> None:
    engine = Rehearsed(SOUND)
    listener = await speak(engine, **body)
    assert listener.status == status
    assert listener.error.items() >= error.items()
    assert listener.error["message"]
    assert engine.asked == []


async def test_a_text_of_exactly_the_limit_is_spoken() -> None:
    assert (await speak(Rehearsed(SOUND), text="😀" * 100)).status == 200


async def test_a_limit_in_bytes_counts_bytes() -> None:
    engine = Rehearsed(SOUND, limit=Limit(5, "bytes"))
    listener = await speak(engine, text="안녕")
    assert (listener.status, listener.error["length"], listener.error["unit"]) == (413, 6, "bytes")


async def test_without_an_engine_it_says_what_to_install() -> None:
    listener = await speak(text="Hi")
    assert (listener.status, listener.error["code"]) == (503, "no_voice")
    assert "pip install 'onetake[local]'" in listener.error["message"]


@pytest.mark.parametrize("play", [(), (SOUND,)], ids=["before the first sound", "amid the take"])
async def test_a_listener_who_leaves_ends_the_synthesis(play: tuple[Audio, ...]) -> None:
    engine = Rehearsed(*play, asyncio.Event())
    listener = Listener(engine, text="Hi").start()
    await soon(engine.begun.wait())
    listener.gone.set()
    await listener.done()
    assert engine.closed.is_set()


async def test_takes_wait_for_a_place_in_the_order_they_came() -> None:
    gate = asyncio.Event()
    engine = Rehearsed(gate, SOUND)
    first = Listener(engine, text="0").start()
    others = [Listener(text=str(number)).of(first).start() for number in range(1, 6)]
    for listener in (first, *others):
        await soon(listener.waiting.wait())
    assert len(engine.asked) == 2
    gate.set()
    for listener in (first, *others):
        assert (await listener.done()).lines[-1] == {"end": True, "seconds": 0.1}
    assert [text for text, _, _ in engine.asked] == ["0", "1", "2", "3", "4", "5"]
    assert engine.most == 2


async def test_a_waiting_take_whose_listener_left_is_dropped() -> None:
    gate = asyncio.Event()
    engine = Rehearsed(gate, SOUND, concurrency=1)
    first = Listener(engine, text="first").start()
    left = Listener(text="left").of(first).start()
    last = Listener(text="last").of(first).start()
    for listener in (first, left, last):
        await soon(listener.waiting.wait())
    left.gone.set()
    await left.done()
    gate.set()
    await first.done()
    await last.done()
    assert [text for text, _, _ in engine.asked] == ["first", "last"]


async def test_a_listener_who_left_just_when_the_turn_came_gives_it_to_the_next() -> None:
    places = Places(lambda: 1)
    await places.__aenter__()
    left, last = (asyncio.create_task(places.__aenter__()) for _ in range(2))
    await asyncio.sleep(0)
    await places.__aexit__()
    left.cancel()
    await soon(last)


async def test_an_engine_that_learns_of_more_places_gives_them_to_those_who_wait() -> None:
    gate = asyncio.Event()
    engine = Rehearsed(gate, SOUND, concurrency=1)
    first = Listener(engine, text="1").start()
    second = Listener(text="2").of(first).start()
    await soon(second.waiting.wait())
    engine.voices = (replace(engine.voices[0], concurrency=3),)
    third = Listener(text="3").of(first).start()
    await soon(third.waiting.wait())
    assert [text for text, _, _ in engine.asked] == ["1", "2", "3"]
    gate.set()
    for listener in (first, second, third):
        await listener.done()


async def test_a_listener_who_does_not_read_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "UNREAD_S", 0.05)
    engine = Rehearsed(SOUND, concurrency=1)
    stuck = Listener(engine, text="stuck")
    stuck.reads = asyncio.Event()
    stuck.start()
    await stuck.done()
    assert engine.closed.is_set()
    assert (await Listener(text="next").of(stuck).start().done()).lines[-1] == {"end": True, "seconds": 0.1}


async def test_a_take_that_fails_gives_its_place_back() -> None:
    engine = Rehearsed(SOUND, BROKEN, concurrency=1)
    first = await speak(engine, text="Hi")
    second = await Listener(text="Hi").of(first).start().done()
    assert second.lines == first.lines


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a real server of `app`. Its socket listens before it starts: nothing to await."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        running = asyncio.create_task(server.serve(sockets=[listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        try:
            yield reader, writer
        finally:
            writer.close()
            server.should_exit = True
            await running


async def test_over_a_real_socket_lines_stream_and_leaving_ends_the_synthesis() -> None:
    engine = Rehearsed(SOUND, asyncio.Event())
    async with serving(Listener(engine, text="Hi").app) as (reader, writer):
        body = '{"text": "Hi"}'
        head = (
            "POST /speech HTTP/1.1",
            "host: x",
            "content-type: application/json",
            f"content-length: {len(body)}",
        )
        writer.write("\r\n".join((*head, "", body)).encode())
        await soon(reader.readuntil(b'"channels": 1}\n'))
        assert not engine.closed.is_set()
        writer.close()
        await soon(engine.closed.wait())
