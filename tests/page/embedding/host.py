"""Somebody else's site, on an origin of its own: pages, files, a chat that streams, and what a policy allows.

    with host({"/": page("<p>…", policy="default-src 'self'")}) as site:
        browser.driver.get(site.url)
"""

from __future__ import annotations

import json
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

TYPES = {".html": "text/html", ".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}


class File(NamedTuple):
    """What one address answers."""

    content: bytes
    type: str
    headers: Mapping[str, str] = {}


def page(html: str, policy: str = "") -> File:
    """A page under that Content-Security-Policy, if any."""
    headers = {"content-security-policy": policy} if policy else {}
    return File(f"<!doctype html><html lang=en><title>Host</title>{html}".encode(), "text/html; charset=utf-8", headers)


def script(code: str) -> File:
    """A script of the site's own."""
    return File(code.encode(), "text/javascript")


class Site(ThreadingHTTPServer):
    """`files` by path, `directories` by the prefix below which their files are.

    `POST /speech` is a take of silence, as plain a speech server as there can be; `authorizations` is what was shown
    last to each path. `/chat` says `reply` as OpenAI's servers do; `POST /endless` goes on until its reader leaves,
    which sets `left`.
    """

    daemon_threads = True

    def __init__(self, files: Mapping[str, File]) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.files = dict(files)
        self.directories: dict[str, Path] = {}
        self.reply = "What a good day it is to go out."
        self.left = threading.Event()
        self.authorizations: dict[str, str | None] = {}
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.url = f"{self.origin}/"

    def find(self, path: str) -> File | None:
        if path in self.files:
            return self.files[path]
        for prefix, directory in self.directories.items():
            file = directory / path.removeprefix(prefix)
            if path.startswith(prefix) and file.is_file():
                return File(file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))
        return None


class _Request(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        path = urllib.parse.urlsplit(self.path).path
        self.server.authorizations[path] = self.headers["authorization"]
        if path == "/chat":
            self._say()
            return
        found = self.server.find(path)
        if found is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-type", found.type)
        for name, value in found.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(found.content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.authorizations[self.path] = self.headers["authorization"]
        if self.path == "/speech":
            self.send_response(200)
            self.send_header("content-type", "audio/pcm;rate=24000")
            self.end_headers()
            self.wfile.write(bytes(2 * 2400))
        elif self.path == "/endless":
            self._begin()
            self._go_on()
        else:
            self._say()

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()

    def _say(self) -> None:
        self._begin()
        for word in self.server.reply.split(" "):
            self._chunk({"delta": {"content": f"{word} "}})
        self._chunk({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _go_on(self) -> None:
        with suppress(OSError):
            while True:
                self._chunk({"delta": {"content": "and "}})
                time.sleep(0.02)  # a model's pace
        self.server.left.set()

    def _chunk(self, choice: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps({'choices': [{'index': 0, **choice}]})}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def host(files: Mapping[str, File]) -> Iterator[Site]:
    """A site of its own."""
    with Site(files) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.shutdown()
