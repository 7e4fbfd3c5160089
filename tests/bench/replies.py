"""Many replies at once on one server, as JSON lines: name, value, unit, limit, ok.

    python tests/bench/replies.py

The server runs in a process of its own, with the real routes, log and agent library, and a model that writes 120
characters per second in pieces of equal length. The client is this process, on the same machine. Replies are begun
one after the other, `STARTS_PER_S`, and measured once all are being written. The delay of a delta is the time from
when its model was due to write it until its bytes are read here: it holds everything that the server adds.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import quantiles
from typing import Any, TypedDict

CHARACTERS_PER_S = 120
PIECE = 12  # code points: ten deltas a second, as a hosted model's chunks come
REPLIES = 500
STARTS_PER_S = 50
MEASURED_S = 8.0
LIMIT_MS = 100.0
LIMIT_ALONE_MS = 30.0
LIMIT_KB = 200.0
STEPS = (125, 250, 375, 500, 625, 750, 1000)  # replies at once, until it no longer holds
SMALL_PIECES = (8, 4)
STAMP = 12  # digits of the time that a reply opens with


class Figure(TypedDict):
    """One line of the output."""

    name: str
    value: float
    unit: str
    limit: float | None
    ok: bool


@dataclass
class Load:
    """What a number of replies at once met with. `delays_ms` is of the deltas while all were being written."""

    delays_ms: list[float] = field(default_factory=list)
    lost: int = 0
    memory_kb: float = 0.0
    processor: float = 0.0

    @property
    def p95_ms(self) -> float:
        return quantiles(self.delays_ms, n=20)[-1]


def run() -> Iterator[Figure]:
    """Measure everything; a figure is given as soon as it is known."""
    alone = measure(1, PIECE)
    yield _at_most("1 reply, delay of a delta, p95", alone.p95_ms, "ms", LIMIT_ALONE_MS)
    full = measure(REPLIES, PIECE)
    yield _at_most(f"{REPLIES} replies, delay of a delta, p95", full.p95_ms, "ms", LIMIT_MS)
    yield _at_most(f"{REPLIES} replies, memory per reply", full.memory_kb / REPLIES, "kB", LIMIT_KB)
    yield _at_most(f"{REPLIES} replies, events lost", full.lost, "events", 0)
    yield _known(f"{REPLIES} replies, processor", full.processor, "cores")
    most = knee(PIECE)
    yield {
        "name": f"replies at once that keep to {LIMIT_MS:g} ms, pieces of {PIECE}",
        "value": most,
        "unit": "replies",
        "limit": REPLIES,
        "ok": most >= REPLIES,
    }
    for piece in SMALL_PIECES:
        name = f"replies at once that keep to {LIMIT_MS:g} ms, pieces of {piece}"
        yield _known(name, knee(piece), "replies")


def knee(piece: int) -> int:
    """The most replies at once, of `STEPS`, whose deltas come in time; 0 if the first does not hold."""
    most = 0
    for replies in STEPS:
        load = measure(replies, piece)
        if load.p95_ms > LIMIT_MS or load.lost:
            break
        most = replies
    return most


def measure(replies: int, piece: int) -> Load:
    """Put a fresh server under that load."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    server = spawning.Process(target=serve, args=(theirs, piece), daemon=True)
    server.start()
    try:
        return asyncio.run(Client(ours.recv(), server.pid or 0).measure(replies))
    finally:
        ours.send("end")
        server.join()


# -- the server's process ----------------------------------------------------------------------


def serve(control: Connection, piece: int) -> None:
    """Serve replies on a port told over `control`, until something comes back."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    from onetake.server.replies import Replies
    from onetake.server.reply_routes import router

    async def write(messages: Any, info: Any) -> AsyncIterator[str]:
        characters = int(messages[-1].parts[-1].content)
        loop = asyncio.get_running_loop()
        started_s = loop.time()
        yield str(round(started_s * 1e6)).rjust(STAMP)
        for written in range(piece, characters, piece):
            await asyncio.sleep(started_s + written / CHARACTERS_PER_S - loop.time())
            yield "x" * (piece - 1) + " "

    async def main() -> None:
        replies = Replies(Agent(FunctionModel(stream_function=write)))
        app = FastAPI()
        app.include_router(router(replies))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listening:
            control.send(listening.getsockname()[1])
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            await asyncio.get_running_loop().run_in_executor(None, control.recv)
            await replies.aclose()
            server.should_exit = True
            await serving


    asyncio.run(main())


# -- the client --------------------------------------------------------------------------------


class Client:
    """Reads replies from the server on `port`, each on a connection of its own."""

    def __init__(self, port: int, server: int) -> None:
        self._port = port
        self._server = server
        self._load = Load()
        self._from_s = self._to_s = float("inf")

    async def measure(self, replies: int) -> Load:
        await self._read(CHARACTERS_PER_S)  # what the server imports and makes once is not the replies' doing
        idle_kb = _memory_kb(self._server)
        ramp_s = replies / STARTS_PER_S
        began_s = time.monotonic()
        self._from_s = began_s + ramp_s + 1
        self._to_s = self._from_s + MEASURED_S
        readers = []
        for number in range(replies):
            await asyncio.sleep(began_s + number / STARTS_PER_S - time.monotonic())
            length = (self._to_s - time.monotonic() + 1) * CHARACTERS_PER_S
            readers.append(asyncio.create_task(self._read(round(length))))
        await asyncio.sleep(self._from_s - time.monotonic())
        processor_s = _processor_s(self._server)
        await asyncio.sleep(self._to_s - time.monotonic())
        self._load.processor = (_processor_s(self._server) - processor_s) / MEASURED_S
        self._load.memory_kb = _memory_kb(self._server) - idle_kb
        await asyncio.gather(*readers)
        return self._load

    async def _read(self, characters: int) -> None:
        """Read one reply of that length and take down when each delta came."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        body = json.dumps({"text": str(characters)}).encode()
        head = f"POST /replies HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        writer.write(f"{head}\r\nconnection: close\r\n\r\n".encode() + body)
        rest, started_s, length, events = b"", 0.0, 0, 0
        while chunk := await reader.read(65536):
            now_s = time.monotonic()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"id: "):
                    events += 1
                    self._load.lost += int(line[4:]) - events
                elif line.startswith(b"data: ") and b'"text"' in line:
                    text: str = json.loads(line[6:])["text"]
                    if length == 0:
                        started_s = int(text[:STAMP]) / 1e6
                    elif self._from_s <= now_s <= self._to_s:
                        # A piece begins at `length`; it was due when that many characters had been written.
                        self._load.delays_ms.append((now_s - started_s - length / CHARACTERS_PER_S) * 1000)
                    length += len(text)
        self._load.lost += b"final" not in rest and length < characters - PIECE
        writer.close()


def _memory_kb(process: int) -> float:
    """What the process holds in memory; Linux only."""
    status = Path(f"/proc/{process}/statm").read_text(encoding="ascii")
    return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1000


def _processor_s(process: int) -> float:
    """Processor time of the process so far; Linux only."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _at_most(name: str, value: float, unit: str, limit: float) -> Figure:
    return {"name": name, "value": round(value, 2), "unit": unit, "limit": limit, "ok": value <= limit}


def _known(name: str, value: float, unit: str) -> Figure:
    return {"name": name, "value": round(value, 2), "unit": unit, "limit": None, "ok": True}


if __name__ == "__main__":
    print(json.dumps(_known("load average before", os.getloadavg()[0], "processes")), flush=True)
    missed = False
    for figure in run():
        print(json.dumps(figure), flush=True)
        missed = missed or not figure["ok"]
    sys.exit(missed)
