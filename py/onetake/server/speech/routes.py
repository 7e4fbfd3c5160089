"""`GET /voices` and `POST /speech`: one request is one take, streamed as its engine makes it.

    app.include_router(router(engines))

    POST /speech {"text": "Hello there.", "voice": "local", "speed": 1.0}
    -> {"audio": "…base64 s16le…", "rate": 24000, "channels": 1}      a line per block, application/x-ndjson
       {"end": true, "seconds": 0.81}        last; or, when the take broke off: {"error": {"code", "message"}}

A text over the voice's limit is refused, never cut and never split. May be imported by `onetake.server.app`.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

import anyio
import anyio.lowlevel
from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from onetake.server.errors import ApiError
from onetake.server.speech.engine import Alignment, Audio, Engine, EngineError, Take, Voice

SLOWEST, FASTEST = 0.5, 2.0  # what every engine can do and a listener can follow
BLOCK_MS = 200  # audio in one line: small enough to start at once, large enough that lines do not cost

_STATUS = {"engine_timeout": 504}  # of an engine's failure before any audio; any other code is a 502


def _encodable(text: str) -> str:
    text.encode()  # a lone surrogate, half of a character, raises a ValueError
    return text


class Order(BaseModel):
    """The body of `POST /speech`. Without a voice, the first one of `GET /voices` speaks."""

    text: Annotated[str, AfterValidator(_encodable)]
    voice: str | None = None
    speed: float = 1.0


def router(engines: Sequence[Engine]) -> APIRouter:
    """The speech routes over `engines`, the preferred one first; there may be none."""
    routes = APIRouter(tags=["speech"])
    engine_of = {voice.id: engine for engine in engines for voice in engine.voices}
    voices = {voice.id: voice for engine in engines for voice in engine.voices}
    places = {voice.engine: asyncio.Semaphore(voice.concurrency) for voice in voices.values()}

    @routes.get("/voices")
    async def list_voices() -> list[dict[str, Any]]:
        return [asdict(voice) for voice in voices.values()]

    @routes.post("/speech", response_class=TakeResponse)
    async def speak(order: Order) -> TakeResponse:
        voice = _voice(order.voice, voices)
        _check(order, voice)
        take = engine_of[voice.id].synthesise(order.text, voice.id, order.speed)
        return TakeResponse(take, places[voice.engine])

    return routes


def _voice(wanted: str | None, voices: dict[str, Voice]) -> Voice:
    if not voices:
        raise ApiError(503, "no_voice", "No speech engine is installed: pip install 'onetake[local]'")
    known = list(voices)
    if wanted is None:
        return voices[known[0]]
    if wanted not in voices:
        message = f"There is no voice {wanted!r}; there is: {', '.join(known)}."
        raise ApiError(404, "unknown_voice", message, voices=known)
    return voices[wanted]


def _check(order: Order, voice: Voice) -> None:
    if not order.text.strip():
        raise ApiError(422, "empty_text", "There is nothing to say: text is empty or blank.")
    if not SLOWEST <= order.speed <= FASTEST:
        message = f"speed is {order.speed:g}; it must be from {SLOWEST:g} to {FASTEST:g}, and 1 is usual."
        raise ApiError(422, "bad_speed", message, minimum=SLOWEST, maximum=FASTEST)
    limit, length = voice.limit, voice.limit.measure(order.text)
    if length > limit.value:
        message = (
            f"The text has {length} {limit.unit}; {voice.name} takes at most {limit.value} at once. "
            "It is never cut or split: send a shorter text or choose another voice."
        )
        raise ApiError(413, "text_too_long", message, limit=limit.value, unit=limit.unit, length=length)


class TakeResponse(Response):
    """Waits for a place, makes the take and sends it, as long as somebody listens.

    A listener who leaves ends all of it at once, be it in the queue, before the first audio or amid the take.
    Starlette's StreamingResponse would not do: it begins before the engine has shown that it works, and does
    not close the take it was given.
    """

    media_type = "application/x-ndjson"

    def __init__(self, take: Take, places: asyncio.Semaphore) -> None:
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
            listening.cancel_scope.cancel()
        if refused is not None:
            raise ApiError(_STATUS.get(refused.code, 502), refused.code, refused.message)

    async def _send(self, send: Send) -> None:
        """Raises `EngineError` only while the status is still open."""
        piece = await anext(self._take, None)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

        async def line(content: dict[str, Any], more: bool = True) -> None:
            body = json.dumps(content).encode() + b"\n"
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
