"""A network between page and server that can be made to fail.

    with network(server.url) as between:
        visit = Visit(browser, between.url)
        between.events_per_connection = 1       # every event is followed by a cut
        between.go_down()                       # everything is cut, and refused until come_up()
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from urllib.parse import urlsplit

HELD_S = 0.05
"""How long a connection that is to be cut stands after its last event."""


class Network(socketserver.ThreadingTCPServer):
    """Passes connections on to the server at `url`; `self.url` is where the page finds it.

    `events_per_connection`: after how many events of a reply its connection is cut; None: never.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.events_per_connection: int | None = None
        self.down = False
        self.port = urlsplit(url).port
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.open: set[socket.socket] = set()

    def go_down(self) -> None:
        """Cut everything and refuse what comes."""
        self.down = True
        for each in list(self.open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def come_up(self) -> None:
        """Let through what comes from now on."""
        self.down = False

    def lead_to(self, url: str) -> None:
        """Cut everything, and pass on what comes from now on to another server."""
        self.go_down()
        self.port = urlsplit(url).port
        self.come_up()


class _Connection(socketserver.BaseRequestHandler):
    """One connection: a thread for what the page says, this one for what the server answers."""

    server: Network

    def handle(self) -> None:
        page: socket.socket = self.request
        if self.server.down:
            return
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.server.port)) as there:
            self.server.open |= {page, there}
            threading.Thread(target=_pass_on, args=(page, there), daemon=True).start()
            with there.makefile("rb") as answers:
                self._answer(answers, page)
            there.shutdown(socket.SHUT_RDWR)
        self.server.open -= {page, there}

    def _answer(self, answers: BufferedReader, page: socket.socket) -> None:
        events = 0
        line = b""
        while data := answers.read1(65536):  # not by lines: a body may end without one, and the connection go on
            for piece in data.splitlines(keepends=True):
                page.sendall(piece)
                line += piece
                if not line.endswith(b"\n"):
                    continue
                if line.startswith(b"id: "):  # the last line of an event, but for the blank one that ends it
                    events += 1
                    if events == self.server.events_per_connection:
                        page.sendall(b"\n")
                        # A browser throws away what its page has not read when the connection breaks. That is no loss,
                        # the page asks for it again; but if it were so every time, the reply would never end.
                        time.sleep(HELD_S)
                        return
                line = b""


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def network(url: str) -> Iterator[Network]:
    """A network in front of the server at `url`."""
    with Network(url) as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        yield between
        between.shutdown()
