"""Two hundred takes at once: none fails, they come in order, and the server does not grow with them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetake.server.speech import open_engines
from onetake.server.speech.engine import Alignment, Audio, Engine, Voice
from onetake.server.speech.routes import router
from tests.speech_servers import serving

pytestmark = pytest.mark.anyio

TAKES = 200
GROWTH = 5_000_000  # bytes; the takes of the second round sound 8 MB, and are three times that as lines


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Noting:
    """An engine that also notes in which order its takes began, and how many ran at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.begun: list[str] = []
        self.now = self.most = 0

    @property
    def voices(self) -> Sequence[Voice]:
        return self._engine.voices

    async def warm(self) -> None:
        await self._engine.warm()

    async def aclose(self) -> None:
        await self._engine.aclose()

    async def synthesise(self, text: str, voice: str, speed: float) -> AsyncGenerator[Audio | Alignment, None]:
        self.begun.append(text)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            async with aclosing(self._engine.synthesise(text, voice, speed)) as take:
                async for piece in take:
                    yield piece
        finally:
            self.now -= 1


class Arrivals:
    """Notes the texts in the order in which their requests arrive at the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.texts: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noting() -> Message:
            message = await receive()
            if message["type"] == "http.request" and message["body"]:
                self.texts.append(json.loads(message["body"])["text"])
            return message

        await self._app(scope, noting, send)


async def listen(port: int, text: str) -> list[dict[str, Any]]:
    """The lines of one take, over a connection of its own; of the sound only how long it is."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"text": text}).encode()
    head = "POST /speech HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: "
    writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
    assert b" 200 " in await reader.readline()
    lines = []
    async for line in reader:
        if line.startswith(b"{"):
            record = json.loads(line)
            if "audio" in record:
                record["audio"] = len(base64.b64decode(record["audio"]))
            lines.append(record)
    writer.close()
    return lines


def resident() -> int:
    """Bytes of memory that this process holds."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


async def all_at_once(port: int, texts: list[str]) -> tuple[list[list[dict[str, Any]]], int]:
    """The lines of each take, and the most memory this process held at the end of one."""
    peak = 0

    async def one(text: str) -> list[dict[str, Any]]:
        nonlocal peak
        lines = await listen(port, text)
        peak = max(peak, resident())
        return lines

    return await asyncio.wait_for(asyncio.gather(*map(one, texts)), 300), peak


async def test_two_hundred_takes_at_once_are_all_whole_and_in_order_and_memory_stays_flat() -> None:
    (local,), _ = open_engines({})
    engine = Noting(local)
    app = FastAPI()
    app.include_router(router([engine]))
    arrivals = Arrivals(app)
    texts = [f"안녕 {number}" if number % 10 == 9 else f"This is take number {number}." for number in range(TAKES)]
    async with serving(arrivals) as port:
        for text in (texts[0], texts[9]):  # what is loaded once is loaded now
            await listen(port, text)
        engine.begun.clear()
        arrivals.texts.clear()
        takes, peak = await all_at_once(port, texts)
        begun = engine.begun.copy()
        _, next_peak = await all_at_once(port, texts[: TAKES // 2])
    await engine.aclose()
    sizes = [sum(line.get("audio", 0) for line in sound) for *sound, _ in takes]
    assert sizes == [round(end["seconds"] * 48_000) for *_, end in takes]
    assert min(sizes) > 0
    assert begun == arrivals.texts[:TAKES]
    assert sorted(begun) == sorted(texts)
    assert engine.most == engine.voices[0].concurrency
    assert next_peak - peak < GROWTH
