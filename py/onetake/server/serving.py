"""Runs the application on uvicorn, and ends it without breaking off what it can end by itself."""

from __future__ import annotations

import gc
import socket

import uvicorn
from fastapi import FastAPI

# Takes that are being sent are cut off after this long.
GRACE_S = 1

# Python's own count of 700 new objects has it look through all that is young a thousand times a second while hundreds
# of replies are written, and through all there is so often that replies stall (tests/bench/replies.py).
YOUNG_OBJECTS = 50_000


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve `app`, made by `create_app`, on that socket until a signal ends it."""
    gc.freeze()  # what was imported stays: no need to look through it
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE_S)
    _Server(config, app).run(sockets=[listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn waits for open streams before it tells the application; these would never end.
        await self._app.state.replies.aclose()
        await super().shutdown(sockets)
