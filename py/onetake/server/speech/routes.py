"""`GET /voices` and `POST /speech`: one request is one take, streamed as its engine makes it.

    app.include_router(router(engines))

    POST /speech {"text": "Hello there.", "voice": "local", "speed": 1.0}
    -> {"audio": "…base64 s16le…", "rate": 24000, "channels": 1}      a line per block, application/x-ndjson
       {"end": true, "seconds": 0.81}        last; or, when the take broke off: {"error": {"code", "message"}}

A text over the voice's limit is refused, never cut and never split. May be imported by `onetake.server.app`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

import anyio
import anyio.lowlevel
from fastapi import APIRouter
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from onetake.server.errors import ApiError
from onetake.server.speech.engine import Alignment, Audio, Engine, EngineError, Take, Voice
from onetake.server.speech.orders import Order, checked
from onetake.server.speech.places import Places

BLOCK_MS = 200  # audio in one line: small enough to start at once, large enough that lines do not cost
UNREAD_S = 30.0  # a listener who takes nothing for so long is gone, and must not hold a place at an engine

# Of an engine's failure before any audio; any other code is a 502.
_STATUS = {
    "engine_timeout": 504,
    "engine_busy": 503,
    "too_many_concurrent": 503,
    "text_too_long": 413,
}


def router(engines: Sequence[Engine]) -> APIRouter:
    """The speech routes over `engines`, the preferred one first; there may be none."""
    routes = APIRouter(tags=["speech"])
    engine_of = {voice.id: engine for engine in engines for voice in engine.voices}
    places = {id(engine): Places(lambda engine=engine: engine.voices[0].concurrency) for engine in engines}  # type: ignore[misc]

    def voices() -> dict[str, Voice]:
        """Asked each time: an engine learns what its voices can do."""
        return {voice.id: voice for engine in engines for voice in engine.voices}

    @routes.get("/voices")
    async def list_voices() -> list[dict[str, Any]]:
        return [asdict(voice) for voice in voices().values()]

    @routes.post("/speech", response_class=TakeResponse)
    async def speak(order: Order) -> TakeResponse:
        voice = checked(order, voices())
        engine = engine_of[voice.id]
        return TakeResponse(engine.synthesise(order.text, voice.id, order.speed), places[id(engine)])

    return routes


class TakeResponse(Response):
    """Waits for a place, makes the take and sends it, as long as somebody listens.

    A listener who leaves ends all of it at once, be it in the queue, before the first audio or amid the take;
    so does, in a while, one who stays but does not read.
    Starlette's StreamingResponse would not do: it begins before the engine has shown that it works, and does
    not close the take it was given.
    """

    media_type = "application/x-ndjson"

    def __init__(self, take: Take, places: Places) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.headers["cache-control"] = "no-store"
        self._take = take
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused: EngineError | None = None
        async with anyio.create_task_group() as listening:
            listening.start_soon(_until_gone, receive, listening.cancel_scope)
            try:
                async with self._places, aclosing(self._take):
                    await self._send(send)
            except EngineError as error:
                refused = error  # raised below: the task group would wrap it
            except TimeoutError:
                pass  # the listener reads no more: the connection is closed without an end of the take
            listening.cancel_scope.cancel()
        if refused is not None:
            raise ApiError(_STATUS.get(refused.code, 502), refused.code, refused.message)

    async def _send(self, send: Send) -> None:
        """Raises `EngineError` only while the status is still open."""
        piece = await anext(self._take, None)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

        async def line(content: dict[str, Any], more: bool = True) -> None:
            body = json.dumps(content).encode() + b"\n"
            with anyio.fail_after(UNREAD_S):
                await send({"type": "http.response.body", "body": body, "more_body": more})
            await anyio.lowlevel.checkpoint()  # sending need not pause, and would keep leaving unnoticed

        seconds = 0.0
        try:
            while piece is not None:
                for content in _lines(piece):
                    await line(content)
                seconds += piece.seconds if isinstance(piece, Audio) else 0.0
                piece = await anext(self._take, None)
        except EngineError as error:
            await line({"error": {"code": error.code, "message": error.message}}, more=False)
        else:
            await line({"end": True, "seconds": round(seconds, 6)}, more=False)


async def _until_gone(receive: Receive, sending: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    sending.cancel()


def _lines(piece: Audio | Alignment) -> Iterator[dict[str, Any]]:
    if isinstance(piece, Alignment):
        yield {"alignment": asdict(piece)}
        return
    size = 2 * piece.channels * (piece.rate * BLOCK_MS // 1000)
    for start in range(0, len(piece.samples), size):
        block = base64.b64encode(piece.samples[start : start + size]).decode()
        yield {"audio": block, "rate": piece.rate, "channels": piece.channels}
