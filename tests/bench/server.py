"""The real server with a writer and a voice that do as they are told, for the bench and what it compares with.

    python -m tests.bench.server DIRECTORY        # prints its address; DIRECTORY holds the other players' packages

A message is the order for its reply, as JSON: `{"rate": 150, "units": [["1/2s/300ms/2x", 40], …]}` is written at 150
characters a second (`null`: at once), with a tool call between units. Each unit is its first word, then filler up to
that many characters, if it is not longer itself. The first word is the order for its take: take 1 of the ruler
(tests/browser/ruler.js), 2 s long, its first byte after 300 ms, sent at 2 times real time.

`POST /speech` gives takes as any engine's; `GET /bench/take.pcm?text=…` and `take.wav` give the same samples at the
same times to other players, without our server's own work in between.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from starlette.responses import FileResponse, StreamingResponse

from onetake.server.agents import agent_for
from onetake.server.app import create_app
from onetake.server.cli import LOOPBACK_NAMES
from onetake.server.serving import serve
from onetake.server.speech.engine import Audio, Limit, Voice
from onetake.server.store import MemoryStore

RATE = 24_000
LENGTH = 8_000  # positions of the ruler repeat after so many samples
BLOCK = RATE // 10  # frames that the engine sends at a time
PIECE = 5  # characters of a delta, about a token
PIECE_AT_ONCE = 20
FILLER = "and so it goes on, word by word, as replies do. "

ORDER = re.compile(r"(\d+)/([\d.]+)s/(\d+)ms/([\d.]+)x")


async def take(text: str) -> AsyncGenerator[bytes, None]:
    """The samples that `text` orders (s16le), each block when it is due."""
    ordered = ORDER.match(text)
    if ordered is None:
        return
    number, seconds, wait_ms, speed = (float(part) for part in ordered.groups())
    samples = ruler(int(number), round(seconds * RATE))
    loop = asyncio.get_running_loop()
    due_s = loop.time() + wait_ms / 1000
    for start in range(0, len(samples), BLOCK):
        await asyncio.sleep(due_s + start / RATE / speed - loop.time())
        yield samples[start : start + BLOCK].tobytes()


def ruler(number: int, frames: int) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Samples of take 0 to 7 that tell which take they are of and where they stand in it."""
    sign = 1 if number < 4 else -1
    return (sign * (number % 4 * 8192 + 1 + np.arange(frames) % LENGTH)).astype("<i2")


class RulerVoice:
    """An engine (see `onetake.server.speech.engine`) whose texts say what to send and when."""

    @property
    def voices(self) -> list[Voice]:
        limit = Limit(1_000_000, "characters")
        return [Voice("ruler", "Ruler", "ruler", ("mul",), RATE, False, "none", limit, concurrency=2)]

    async def warm(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def synthesise(self, text: str, voice: str, speed: float) -> AsyncGenerator[Audio, None]:
        async for samples in take(text):
            yield Audio(samples, RATE)


async def write(messages: list[Any], info: Any) -> AsyncIterator[Any]:
    """The reply that the message orders, one unit between two tool calls."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    said = max(i for i, part in enumerate(parts) if isinstance(part, UserPromptPart))
    order = json.loads(parts[said].content)
    written = sum(isinstance(part, ToolReturnPart) for part in parts[said:])
    head, length = order["units"][written]
    length = max(length, len(head))
    text = (head + " " + FILLER * (length // len(FILLER) + 1))[:length]
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    piece = PIECE if order["rate"] else PIECE_AT_ONCE
    for start in range(0, length, piece):
        if order["rate"]:
            await asyncio.sleep(began_s + (start + piece) / order["rate"] - loop.time())
        yield text[start : start + piece]
    if written + 1 < len(order["units"]):
        yield {0: DeltaToolCall(name="clock", json_args="{}")}


def routes(packages: Path) -> APIRouter:
    """What only the bench asks for: its own scripts, the other players' packages, and takes as they want them."""
    bench = APIRouter(prefix="/bench")
    own = Path(__file__).parent

    @bench.get("/files/{name}")
    async def file(name: str) -> FileResponse:
        return FileResponse(own / name, media_type="text/javascript")

    @bench.get("/packages/{path:path}")
    async def package(path: str) -> FileResponse:
        return FileResponse(packages / path, media_type="text/javascript")

    @bench.get("/take.pcm")
    async def pcm(text: str) -> StreamingResponse:
        return StreamingResponse(take(text), media_type=f"audio/pcm;rate={RATE}")

    @bench.get("/take.wav")
    async def wav(text: str) -> StreamingResponse:
        async def whole() -> AsyncIterator[bytes]:
            blocks = take(text)
            first = await anext(blocks)
            size = 2 * round(float(ORDER.match(text)[2]) * RATE)  # type: ignore[index]
            form = (16, 1, 1, RATE, 2 * RATE, 2, 16)  # PCM, one channel
            yield struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVEfmt ", *form, b"data", size)
            yield first
            async for block in blocks:
                yield block

        return StreamingResponse(whole(), media_type="audio/wav")

    return bench


def main() -> None:
    app = create_app(
        agent_for(FunctionModel(stream_function=write, model_name="bench")),
        [RulerVoice()],
        model="bench",
        voice=None,
        store=MemoryStore(),
        hosts=LOOPBACK_NAMES,
    )
    app.include_router(routes(Path(sys.argv[1])))
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
        serve(app, listening)


if __name__ == "__main__":
    main()
