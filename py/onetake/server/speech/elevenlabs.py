"""ElevenLabs: expressive voices that read whole takes, with the time of every character.

    engine = ElevenLabs(key, voices=["JBFqnCBsd6RMkjVDRZzb"], model="eleven_v3")
    async for piece in engine.synthesise("[softly] Hello.", "elevenlabs:JBFqnCBsd6RMkjVDRZzb", 1.0): ...

Asks for PCM and sends nothing but the text, the model and maybe the speed: never `previous_text`, `next_text`
or request ids, by which a vendor stitches requests (eleven_v3 refuses them, and a unit is a take of its own).
By httpx2 and not by the vendor's package, which passes over lines of a timed stream that it cannot read, an
error among them, and knows one timeout for everything. Opened by `open_engines`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

from onetake.server.speech.engine import Alignment, Audio, Limit, Take, Voice
from onetake.server.speech.formats import decoded
from onetake.server.speech.refusals import Refused
from onetake.server.speech.script import sayable
from onetake.server.speech.timed import timed
from onetake.server.speech.upstream import Ladder, Patience, Upstream

URL = "https://api.elevenlabs.io"
MODEL = "eleven_v3"
VOICE = "JBFqnCBsd6RMkjVDRZzb"  # George, the voice of the vendor's own first example; every account has it
RATE = 24_000  # of the PCM formats the best that every plan has

# What the smallest plan serves at once; each answer tells the number for this account.
CONCURRENCY = 2


@dataclass(frozen=True, slots=True)
class Model:
    """What a model can do. `limit` is in characters."""

    limit: int
    audio_tags: bool = False
    speeds: tuple[float, float] = (0.7, 1.2)


_EXPRESSIVE = (1.0, 1.0)  # sets its pace itself and takes no speed

# By the beginning of the model's id, the first that fits; another model gets what all can do.
_MODELS = {
    "eleven_v3": Model(5_000, audio_tags=True, speeds=_EXPRESSIVE),
    "eleven_v4": Model(10_000, audio_tags=True, speeds=_EXPRESSIVE),
    "eleven_multilingual_v2": Model(10_000),
    "eleven_flash_v2_5": Model(40_000),
    "eleven_turbo_v2_5": Model(40_000),
    "eleven_flash_v2": Model(30_000),
    "eleven_turbo_v2": Model(30_000),
}
_OTHER = Model(5_000)

# The paths after the voice's, the best way first: timed and streamed, streamed, in one piece.
TIMED, STREAMED, WHOLE = "/stream/with-timestamps", "/stream", ""


class ElevenLabs:
    """The voices of one account, all read by one model."""

    def __init__(
        self,
        key: str,
        *,
        voices: Sequence[str] = (VOICE,),
        model: str = MODEL,
        url: str = URL,
        patience: Patience | None = None,
    ) -> None:
        self._key = key
        self._voices = voices
        self._model = model
        self._can = next((can for name, can in _MODELS.items() if model.startswith(name)), _OTHER)
        self._url = url.rstrip("/")
        self._upstream = Upstream("ElevenLabs", [key], patience or Patience())
        self._ways = Ladder(TIMED, STREAMED, WHOLE)
        self._concurrency = CONCURRENCY

    @property
    def voices(self) -> Sequence[Voice]:
        """See `Engine.voices`."""
        return [
            Voice(
                id=f"elevenlabs:{voice}",
                name=f"ElevenLabs {voice} ({self._model})",
                engine="elevenlabs",
                languages=("mul",),
                sample_rate=RATE,
                audio_tags=self._can.audio_tags,
                timing="char" if self._ways.best == TIMED else "none",
                limit=Limit(self._can.limit, "characters"),
                concurrency=self._concurrency,
                speeds=self._can.speeds,
            )
            for voice in self._voices
        ]

    async def warm(self) -> None:
        """Nothing: a request without a text would cost, and a connection without a request is closed again."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._upstream.aclose()

    async def synthesise(self, text: str, voice: str, speed: float) -> Take:
        """See `Engine.synthesise`."""
        if not sayable(text):
            return
        body = _body(text, self._model, speed)
        address = f"{self._url}/v1/text-to-speech/{quote(voice.removeprefix('elevenlabs:'), safe='')}"

        def send(way: str) -> AbstractAsyncContextManager[httpx2.Response]:
            return self._upstream.client.stream(
                "POST",
                address + way,
                params={"output_format": f"pcm_{RATE}"},
                headers={"xi-api-key": self._key},
                json=body,
            )

        try:
            async with self._upstream.ask(self._ways, send, _declined) as (way, answer):
                self._learn(answer.headers)
                if way == TIMED:
                    pieces: AsyncGenerator[Audio | Alignment, None] = timed(self._upstream, answer, RATE)
                else:
                    pieces = decoded(self._upstream, answer, asked="pcm", rate=RATE)
                async with aclosing(pieces):
                    async for piece in pieces:
                        yield piece
        except Refused as refusal:
            self._learn(refusal.headers)
            raise

    def _learn(self, headers: Mapping[str, str]) -> None:
        """Take note of how many takes at once the account may have, as every answer tells."""
        most = headers.get("maximum-concurrent-requests", "")
        if most.isdecimal() and int(most) > 0:
            self._concurrency = int(most)


def _body(text: str, model: str, speed: float) -> dict[str, Any]:
    body: dict[str, Any] = {"text": text, "model_id": model}
    if speed != 1.0:
        body["voice_settings"] = {"speed": speed}
    return body


def _declined(refusal: Refused) -> bool:
    """Whether the model or the server does not have this way of asking, as opposed to this request or account."""
    if refusal.status in (405, 501):
        return True
    if refusal.status == 404:
        return refusal.code != "voice_not_found"
    return refusal.status in (400, 422) and ("unsupported" in refusal.said or "not_supported" in refusal.said)
