"""Speech services as their vendors document them, for tests: real HTTP servers on this machine.

    async with SpeechServer(lambda request: Answer(200, "audio/pcm", [b"...", b"..."])) as server:
        ... server.url ...
        server.requests[0].text, server.requests[0].closed

The wire is written by hand, byte by byte, so that a test can send odd chunks, stop in the middle, or never answer.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pytest
import soundfile
import uvicorn
from starlette.types import ASGIApp

from onetake.server.speech.engine import Alignment, Audio, Engine, EngineError

T = TypeVar("T")

RATE = 24_000
TIMED, STREAMED, WHOLE = "/stream/with-timestamps", "/stream", ""


class Request:
    """One request as it came, and what became of its connection."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.raw = b""
        self.closed = asyncio.Event()  # by the one who asked, before the answer was whole
        self.closed_at = 0.0
        self.begun = asyncio.Event()  # all there is to send before a wait has been sent

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.raw)
        return body

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def way(self) -> str:
        """The part of an ElevenLabs path that follows the voice."""
        return "/".join(["", *self.path.split("/")[4:]])


@dataclass
class Answer:
    """What to send: parts of the body, each one chunk; an event is waited for, and never comes if nobody sets it.

    `head_waits`: for nothing to be sent at all before. `cut`: the connection is closed without an end.
    """

    status: int = 200
    media_type: str | None = "application/octet-stream"
    parts: Sequence[bytes | asyncio.Event] = ()
    headers: dict[str, str] = field(default_factory=dict)
    head_waits: asyncio.Event | None = None
    cut: bool = False


class SpeechServer:
    """Answers each request as `reply` says; `requests` are all it got, in order."""

    def __init__(self, reply: Callable[[Request], Answer]) -> None:
        self._reply = reply
        self.requests: list[Request] = []
        self.arrivals: asyncio.Queue[Request] = asyncio.Queue()  # the same, to wait for
        self.url = ""

    async def __aenter__(self) -> SpeechServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._tasks: set[asyncio.Task[Any]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            # Cancelled at the end of the test only; asyncio would log that.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._one(reader, writer)
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
        request = Request(head)
        request.raw = await reader.readexactly(int(request.headers["content-length"]))
        self.requests.append(request)
        self.arrivals.put_nowait(request)
        answer = self._reply(request)
        sending = asyncio.create_task(self._send(request, answer, writer))
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                request.closed_at = time.perf_counter()
                request.closed.set()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, request: Request, answer: Answer, writer: asyncio.StreamWriter) -> None:
        if answer.head_waits is not None:
            request.begun.set()
            await answer.head_waits.wait()
        lines = [f"HTTP/1.1 {answer.status} X", "transfer-encoding: chunked", "connection: close"]
        if answer.media_type:
            lines.append(f"content-type: {answer.media_type}")
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join((*lines, "", "")).encode())
        for part in answer.parts:
            if isinstance(part, asyncio.Event):
                request.begun.set()
                await part.wait()
            elif part:
                writer.write(b"%x\r\n%b\r\n" % (len(part), part))
                await writer.drain()
        if not answer.cut:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


# -- what the vendors send -----------------------------------------------------------------------------------


def refusal(status: int, body: Any, **headers: str) -> Answer:
    """An error as JSON. Header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, "application/json", [json.dumps(body).encode()], named)


def timed_line(samples: bytes, chars: str = "", start_s: float = 0.0, each_s: float = 0.05) -> bytes:
    """One object of ElevenLabs' stream/with-timestamps."""
    starts = [start_s + i * each_s for i in range(len(chars))]
    alignment = {
        "characters": list(chars),
        "character_start_times_seconds": starts,
        "character_end_times_seconds": [start + each_s for start in starts],
    }
    record = {
        "audio_base64": base64.b64encode(samples).decode(),
        "alignment": alignment if chars else None,
        "normalized_alignment": alignment if chars else None,
    }
    return json.dumps(record).encode() + b"\n"


def in_parts(content: bytes, sizes: Iterable[int]) -> list[bytes]:
    """`content` in chunks of these sizes, the last size again and again."""
    parts, at, size = [], 0, 1
    sizes = iter(sizes)
    while at < len(content):
        size = next(sizes, size)
        parts.append(content[at : at + size])
        at += size
    return parts


def encoded(samples: bytes, format: str, rate: int = RATE, subtype: str | None = None) -> bytes:
    """s16le mono as a file of that format: "WAV", "MP3", "OGG", "FLAC"."""
    file = io.BytesIO()
    wave = np.frombuffer(samples, "<i2")
    soundfile.write(file, wave / 32768 if subtype else wave, rate, format=format, subtype=subtype)
    return file.getvalue()


# -- asking an engine ----------------------------------------------------------------------------------------


async def pieces(engine: Engine, text: str, speed: float = 1.0) -> list[Audio | Alignment]:
    """One whole take of the engine's first voice."""
    async with aclosing(engine.synthesise(text, engine.voices[0].id, speed)) as take:
        return [piece async for piece in take]


def samples(take: Sequence[Audio | Alignment]) -> bytes:
    """All sound of a take."""
    return b"".join(piece.samples for piece in take if isinstance(piece, Audio))


async def failure(engine: Engine, text: str) -> EngineError:
    """The error that a take ends with."""
    with pytest.raises(EngineError) as caught:
        await pieces(engine, text)
    return caught.value


async def soon(event: Awaitable[T]) -> T:
    """What will happen; that it does not is a failure instead of a hang."""
    return await asyncio.wait_for(event, 20)


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[int]:
    """The port of a real server of `app`."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        running = asyncio.create_task(server.serve(sockets=[listening]))
        yield listening.getsockname()[1]
        server.should_exit = True
        await running
