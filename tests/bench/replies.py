"""Many replies at once on one server, as JSON lines: name, value, unit, limit, ok.

    python -m tests.bench.replies

The server runs in a process of its own: the whole application as `onetake` serves it, with a model that writes 120
characters per second in pieces of equal length. The client is this process, on the same machine. Replies are begun
one after the other, `STARTS_PER_S`, and measured once all are being written. The delay of a delta is the time from
when its model was due to write it until its last byte is read here: it holds everything that the server adds.

The client must not be what is measured: while replies are read it only takes down which bytes came when, in one
thread and without an event loop's layers, and looks into them afterwards. Its share of a processor is told, too.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import selectors
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import quantiles
from typing import Any

from tests.bench.figures import Figure, at_most, known

CHARACTERS_PER_S = 120
PIECE = 12  # code points: ten deltas a second, as a hosted model's chunks come
REPLIES = 500
STARTS_PER_S = 50
SETTLE_S = 1.0  # between the last start and the measured part
MEASURED_S = 8.0
LIMIT_MS = 100.0
LIMIT_ALONE_MS = 30.0
LIMIT_KB = 200.0
STEPS = (125, 250, 375, 500, 625, 750, 1000)  # replies at once, among which the knee is sought
SMALL_PIECES = (8, 4)
STAMP = 12  # digits of the time that a reply opens with
PATIENCE_S = 60.0  # how long after the last reply was due to end an overwhelmed server is waited for


@dataclass
class Load:
    """What a number of replies at once met with, while all were being written.

    Shares of a processor are of one core. A delta is a piece of the model's, however it was sent.
    """

    delays_ms: list[float] = field(default_factory=list)
    lost: int = 0
    memory_kb: float = 0.0
    server_cores: float = 0.0
    client_cores: float = 0.0

    @property
    def p95_ms(self) -> float:
        return quantiles(self.delays_ms, n=20)[-1]

    @property
    def holds(self) -> bool:
        """Whether every delta came, and in time."""
        return self.p95_ms <= LIMIT_MS and not self.lost

    @property
    def ms_per_delta(self) -> float:
        """Of the server's processor time."""
        return self.server_cores * MEASURED_S / len(self.delays_ms) * 1000


def run() -> Iterator[Figure]:
    """Measure everything; a figure is given as soon as it is known."""
    alone = measure(1, PIECE)
    yield at_most("1 reply, delay of a delta, p95", alone.p95_ms, "ms", LIMIT_ALONE_MS)
    full = measure(REPLIES, PIECE)
    yield at_most(f"{REPLIES} replies, delay of a delta, p95", full.p95_ms, "ms", LIMIT_MS)
    yield at_most(f"{REPLIES} replies, memory per reply", full.memory_kb / REPLIES, "kB", LIMIT_KB)
    yield at_most(f"{REPLIES} replies, events lost", full.lost, "events", 0)
    yield known(f"{REPLIES} replies, processor of the server", full.server_cores, "cores")
    yield known(f"{REPLIES} replies, processor of the client", full.client_cores, "cores")
    yield known(f"{REPLIES} replies, processor of the server per delta", full.ms_per_delta, "ms")
    for piece in (PIECE, *SMALL_PIECES):
        most = knee(piece, full if piece == PIECE else measure(REPLIES, piece))
        yield known(f"replies at once that keep to {LIMIT_MS:g} ms, pieces of {piece}", most, "replies")


def knee(piece: int, full: Load) -> int:
    """The most replies at once, of `STEPS`, whose deltas come in time, 0 if none; `full` is what REPLIES met with."""
    if not full.holds:
        below = (replies for replies in reversed(STEPS) if replies < REPLIES)
        return next((replies for replies in below if measure(replies, piece).holds), 0)
    above = (replies for replies in STEPS if replies > REPLIES)
    kept = list(takewhile(lambda replies: measure(replies, piece).holds, above))
    return kept[-1] if kept else REPLIES


def measure(replies: int, piece: int) -> Load:
    """Put a fresh server under that load."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    server = spawning.Process(target=serve, args=(theirs, piece), daemon=True)
    server.start()
    theirs.close()  # so that a server that does not come up is noticed
    try:
        return Client(ours.recv(), server.pid or 0, piece).measure(replies)
    finally:
        server.terminate()
        server.join()


# -- the server's process ----------------------------------------------------------------------


def serve(control: Connection, piece: int) -> None:
    """Serve replies on a port told over `control`, until a signal ends it."""
    import asyncio

    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    from onetake.server.app import create_app
    from onetake.server.serving import serve

    async def write(messages: Any, info: Any) -> AsyncIterator[str]:
        characters = int(messages[-1].parts[-1].content)
        started_s = time.monotonic()
        yield str(round(started_s * 1e6)).rjust(STAMP)
        for written in range(STAMP, characters, piece):
            await asyncio.sleep(started_s + written / CHARACTERS_PER_S - time.monotonic())
            yield "x" * (piece - 1) + " "

    app = create_app(Agent(FunctionModel(stream_function=write)), [], model="bench", voice=None, hosts=None)
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    control.send(listening.getsockname()[1])
    serve(app, listening)


# -- the client --------------------------------------------------------------------------------


class Client:
    """Reads replies from the server on `port`, each on a connection of its own."""

    def __init__(self, port: int, server: int, piece: int) -> None:
        self._port = port
        self._server = server
        self._piece = piece
        self._open = selectors.DefaultSelector()

    def measure(self, replies: int) -> Load:
        self._read_until(time.monotonic() + PATIENCE_S, [self._begin(CHARACTERS_PER_S)])  # imports, and the like
        idle_kb = _memory_kb(self._server)
        began_s = time.monotonic()
        from_s = began_s + replies / STARTS_PER_S + SETTLE_S
        to_s = from_s + MEASURED_S
        reading = []
        for number in range(replies):
            self._read_until(began_s + number / STARTS_PER_S)
            characters = round((to_s - time.monotonic() + 1) * CHARACTERS_PER_S)
            reading.append(self._begin(characters))
        load = Load()
        self._read_until(from_s)
        server_s, client_s = _processor_s(self._server), time.process_time()
        self._read_until(to_s)
        load.client_cores = (time.process_time() - client_s) / MEASURED_S
        load.server_cores = (_processor_s(self._server) - server_s) / MEASURED_S
        load.memory_kb = _memory_kb(self._server) - idle_kb
        self._read_until(to_s + PATIENCE_S, reading)
        for each in reading:
            each.look_into(load, from_s, to_s, self._piece)
        return load

    def _begin(self, characters: int) -> _Reading:
        body = json.dumps({"text": str(characters)}).encode()
        head = f"POST /replies HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        connection = socket.create_connection(("127.0.0.1", self._port))
        connection.sendall(f"{head}\r\nconnection: close\r\n\r\n".encode() + body)
        connection.setblocking(False)
        reading = _Reading(connection)
        self._open.register(connection, selectors.EVENT_READ, reading)
        return reading

    def _read_until(self, until_s: float, ended: list[_Reading] | None = None) -> None:
        """Take in what comes until that time, or until all of `ended` have."""
        while (left_s := until_s - time.monotonic()) > 0 and not (ended and all(each.closed for each in ended)):
            for key, _ in self._open.select(left_s):
                if key.data.take_in():
                    self._open.unregister(key.fileobj)


class _Reading:
    """One reply: the bytes that came, and when."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._came: list[tuple[float, bytes]] = []
        self.closed = False

    def take_in(self) -> bool:
        """Read what is there; True at the end."""
        data = self._connection.recv(65536)
        self._came.append((time.monotonic(), data))
        if not data:
            self._connection.close()
            self.closed = True
        return self.closed

    def look_into(self, load: Load, from_s: float, to_s: float, piece: int) -> None:
        """Add to `load` the delays of what came between the two times, and what is missing."""
        rest, started_s, length, events, whole = b"", 0.0, 0, 0, False
        for now_s, data in self._came:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                whole = whole or line == b"event: final"
                if line.startswith(b"id: "):
                    events += 1
                    load.lost += int(line[4:]) != events
                elif line.startswith(b"data: ") and b'"text"' in line:
                    text: str = json.loads(line[6:])["text"]
                    if length == 0:
                        started_s = int(text[:STAMP]) / 1e6
                    elif from_s <= now_s <= to_s:
                        # A piece was due when the characters before it had been written.
                        load.delays_ms += [
                            (now_s - started_s - start / CHARACTERS_PER_S) * 1000
                            for start in range(length, length + len(text), piece)
                        ]
                    length += len(text)
        load.lost += not whole


def _memory_kb(process: int) -> float:
    """What the process holds in memory; Linux only."""
    status = Path(f"/proc/{process}/statm").read_text(encoding="ascii")
    return int(status.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1000


def _processor_s(process: int) -> float:
    """Processor time of the process so far; Linux only."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    print(json.dumps(known("load average before", os.getloadavg()[0], "processes")), flush=True)
    missed = False
    for figure in run():
        print(json.dumps(figure), flush=True)
        missed = missed or not figure["ok"]
    sys.exit(missed)
