"""Any server that speaks OpenAI's `/v1/audio/speech`: OpenAI itself, and many that run at home.

    engine = OpenAISpeech("http://localhost:8880/v1", model="kokoro", voice="af_heart")
    async for piece in engine.synthesise("Hello.", "openai:af_heart", 1.0): ...

Asks for PCM first, for WAV where the server has none, and for mp3 where it has neither. By the vendor's own
package, which streams, with its repetitions switched off: `onetake.server.speech.upstream` knows which error
is worth one. Opened by `open_engines`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, omit

from onetake.server.speech.engine import Limit, Take, Voice
from onetake.server.speech.formats import decoded
from onetake.server.speech.refusals import Refused
from onetake.server.speech.script import sayable
from onetake.server.speech.upstream import HEADERS, Ladder, Patience, Upstream

MODEL = "tts-1"  # the name that servers at home take for their own model, too
VOICE = "alloy"
RATE = 24_000  # of OpenAI's PCM, which has no header that would tell
LIMIT = 4_096  # characters, as OpenAI documents it
CONCURRENCY = 2  # the unit that sounds and the next one; a server at home has one processor

Format = Literal["pcm", "wav", "mp3"]


class OpenAISpeech:
    """One voice of one server. `url` is the address up to `/audio/speech`; `/v1` is added where it has no path.

    `rate` is the rate of its PCM and of the takes; what comes at another rate is resampled. `audio_tags`: its
    model performs `[softly]`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        model: str = MODEL,
        voice: str = VOICE,
        rate: int = RATE,
        limit: int = LIMIT,
        audio_tags: bool = False,
        patience: Patience | None = None,
    ) -> None:
        parts = urlsplit(url)
        self._model = model
        self._voice = voice
        self._rate = rate
        self._limit = Limit(limit, "characters")
        self._audio_tags = audio_tags
        self._headers: dict[str, Any] = {**HEADERS, **({} if key else {"Authorization": omit})}
        self._upstream = Upstream(f"The speech server {parts.hostname}", [key or ""], patience or Patience())
        self._client = AsyncOpenAI(
            base_url=url if parts.path.strip("/") else f"{url.rstrip('/')}/v1",
            api_key=key or "none",
            http_client=self._upstream.client,
            timeout=self._upstream.client.timeout,
            max_retries=0,
        )
        # Taken from the environment; they are for OpenAI and not for every server.
        self._client.organization = self._client.project = None
        self._ways: Ladder[Format] = Ladder("pcm", "wav", "mp3")

    @property
    def voices(self) -> Sequence[Voice]:
        """See `Engine.voices`."""
        return [
            Voice(
                id=f"openai:{self._voice}",
                name=f"{self._voice} ({self._model} at {self._client.base_url.host})",
                engine="openai",
                languages=("mul",),
                sample_rate=self._rate,
                audio_tags=self._audio_tags,
                timing="none",
                limit=self._limit,
                concurrency=CONCURRENCY,
            )
        ]

    async def warm(self) -> None:
        """Nothing: the first request finds out whether the server is there."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._upstream.aclose()

    async def synthesise(self, text: str, voice: str, speed: float) -> Take:
        """See `Engine.synthesise`."""
        if not sayable(text):
            return

        @asynccontextmanager
        async def send(way: Format) -> AsyncIterator[httpx2.Response]:
            try:
                async with self._client.audio.speech.with_streaming_response.create(
                    input=text,
                    model=self._model,
                    voice=self._voice,
                    response_format=way,
                    speed=omit if speed == 1.0 else speed,
                    extra_headers=self._headers,
                ) as response:
                    yield response.http_response
            except APIStatusError as error:
                yield error.response  # it has been read
            except APIConnectionError as error:
                raise error.__cause__ or error from None

        async with (
            self._upstream.ask(self._ways, send, _declined) as (way, answer),
            aclosing(decoded(self._upstream, answer, asked=way, rate=self._rate)) as sound,
        ):
            async for audio in sound:
                yield audio


def _declined(refusal: Refused) -> bool:
    """Whether the server does not have this format, as opposed to all else it may not like."""
    about_format = "format" in f"{refusal.said} {refusal.message}".lower()
    return refusal.status in (400, 415, 422, 501) and about_format
