"""Servers with `/v1/audio/speech`: what is sent to them, which format is taken, and what they send instead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from onetake.server.speech.engine import Audio
from onetake.server.speech.openai_speech import OpenAISpeech
from tests.speech_servers import (
    Answer,
    Request,
    SpeechServer,
    encoded,
    failure,
    in_parts,
    pieces,
    refusal,
    samples,
    soon,
)

pytestmark = pytest.mark.anyio

TONE = (np.sin(np.arange(24_000) * 2 * np.pi * 440 / 24_000) * 8_000).astype("<i2").tobytes()  # a second
TEXT = "  안녕 “Rest”.\n\n\tÉ😀 "


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def sending(content: bytes, media_type: str | None = "audio/pcm", sizes: tuple[int, ...] = (4_096,)) -> Any:
    return lambda _: Answer(200, media_type, in_parts(content, sizes))


def only(format: str, content: bytes) -> Callable[[Request], Answer]:
    """A server that knows one format and refuses others as FastAPI does."""
    problem = {"detail": [{"loc": ["body", "response_format"], "msg": f"Input should be '{format}'", "type": "enum"}]}
    good = Answer(200, f"audio/{format}", [content])
    return lambda request: good if request.body["response_format"] == format else refusal(422, problem)


@asynccontextmanager
async def speech(
    reply: Callable[[Request], Answer], **choices: Any
) -> AsyncIterator[tuple[OpenAISpeech, SpeechServer]]:
    async with SpeechServer(reply) as server:
        engine = OpenAISpeech(server.url, **choices)
        try:
            yield engine, server
        finally:
            await engine.aclose()


def correlation(sound: bytes, tone: bytes = TONE) -> float:
    """How alike two sounds of about the same length are, wherever the one begins."""
    one, other = (np.frombuffer(each, "<i2").astype(float) for each in (sound, tone))
    size = 2 * max(len(one), len(other))
    found = np.fft.irfft(np.fft.rfft(one, size) * np.conj(np.fft.rfft(other, size)))
    return float(found.max() / np.sqrt((one**2).sum() * (other**2).sum()))


# -- what is sent --------------------------------------------------------------------------------------------


async def test_a_unit_is_one_request_with_its_text_as_it_is() -> None:
    async with speech(sending(TONE), key="sk-one", model="kokoro", voice="af_heart") as (engine, server):
        await pieces(engine, TEXT)
    (request,) = server.requests
    assert (request.method, request.target) == ("POST", "/v1/audio/speech")
    assert request.body == {"input": TEXT, "model": "kokoro", "voice": "af_heart", "response_format": "pcm"}
    assert request.headers["authorization"] == "Bearer sk-one"


async def test_speed_is_sent_if_it_is_asked_for() -> None:
    async with speech(sending(TONE)) as (engine, server):
        await pieces(engine, TEXT, 1.5)
    assert server.requests[0].body["speed"] == 1.5


async def test_what_the_environment_holds_for_openai_is_not_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "canary")
    async with speech(sending(TONE)) as (engine, server):
        await pieces(engine, "Hello.")
    assert "canary" not in str(server.requests[0].headers)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(("path", "asked"), [("", "/v1"), ("/", "/v1"), ("/v1", "/v1"), ("/api/v3/", "/api/v3")])
async def test_the_address_may_have_any_path_and_v1_is_the_usual_one(path: str, asked: str) -> None:
    async with SpeechServer(sending(TONE)) as server:
        engine = OpenAISpeech(server.url + path)
        await pieces(engine, "Hello.")
        await engine.aclose()
    assert server.requests[0].target == f"{asked}/audio/speech"


async def test_tags_limit_and_rate_are_told_as_they_were_chosen() -> None:
    usual = OpenAISpeech("http://127.0.0.1:1").voices[0]
    assert (usual.audio_tags, usual.limit.value, usual.sample_rate, usual.timing) == (False, 4_096, 24_000, "none")
    told = OpenAISpeech("http://127.0.0.1:1", audio_tags=True, limit=9, rate=44_100).voices[0]
    assert (told.audio_tags, told.limit.value, told.sample_rate) == (True, 9, 44_100)


# -- the formats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 1, 1, 997), (3,), (4_097,), (1_000_000,)])
async def test_pcm_is_whole_whatever_the_chunks(sizes: tuple[int, ...]) -> None:
    async with speech(sending(TONE, sizes=sizes)) as (engine, _):
        take = await pieces(engine, "Hello.")
    assert samples(take) == TONE
    assert all(isinstance(each, Audio) and len(each.samples) % 2 == 0 for each in take)


async def test_half_a_sample_at_the_end_is_no_sound() -> None:
    async with speech(sending(TONE + b"\1")) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == TONE


async def test_sound_is_passed_on_before_the_next_comes() -> None:
    gate = asyncio.Event()
    for head in (TONE, encoded(TONE, "WAV")):
        async with speech(lambda _, head=head: Answer(200, None, [head, gate])) as (engine, _):
            take = engine.synthesise("Hello.", engine.voices[0].id, 1.0)
            assert samples([await soon(anext(take))]) == TONE
            await take.aclose()


@pytest.mark.parametrize("media_type", ["audio/wav", "text/html; charset=utf-8", "audio/mpeg", "audio/pcm", None])
@pytest.mark.parametrize("sizes", [(1,) * 60 + (999,), (20, 1_000_000)])
async def test_riff_is_read_as_wav_under_any_content_type(media_type: str | None, sizes: tuple[int, ...]) -> None:
    async with speech(sending(encoded(TONE, "WAV"), media_type, sizes)) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == TONE


@pytest.mark.parametrize("size", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x24\xff\xff\x7f"])
async def test_a_streamed_wav_with_a_bogus_length_is_read_to_its_end(size: bytes) -> None:
    wav = bytearray(encoded(TONE, "WAV"))
    at = wav.index(b"data") + 4
    wav[at : at + 4] = size
    async with speech(sending(bytes(wav))) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == TONE


async def test_what_follows_the_samples_of_a_wav_is_no_sound() -> None:
    async with speech(sending(encoded(TONE, "WAV") + b"LIST\x04\0\0\0INFO")) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == TONE


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("format", ["WAV", "WAVEX"])
async def test_wav_of_other_sample_formats_is_read(format: str, subtype: str) -> None:
    async with speech(sending(encoded(TONE, format, subtype=subtype), sizes=(7, 1_001))) as (engine, _):
        sound = np.frombuffer(samples(await pieces(engine, "Hello.")), "<i2").astype(int)
    assert np.abs(sound - np.frombuffer(TONE, "<i2")).max() <= (260 if subtype == "PCM_U8" else 1)


@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100])
async def test_a_wav_at_another_rate_is_brought_to_the_rate_that_was_told(rate: int) -> None:
    tone = (np.sin(np.arange(rate) * 2 * np.pi * 440 / rate) * 8_000).astype("<i2").tobytes()
    async with speech(sending(encoded(tone, "WAV", rate), sizes=(1_001,))) as (engine, _):
        take = await pieces(engine, "Hello.")
    assert {piece.rate for piece in take if isinstance(piece, Audio)} == {24_000}
    assert len(samples(take)) == pytest.approx(len(TONE), abs=4)
    assert correlation(samples(take)) > 0.99


async def test_stereo_stays_stereo() -> None:
    wav = bytearray(encoded(TONE, "WAV"))
    wav[22:24] = b"\2\0"
    async with speech(sending(bytes(wav), sizes=(1_001,))) as (engine, _):
        take = await pieces(engine, "Hello.")
    assert {piece.channels for piece in take if isinstance(piece, Audio)} == {2}
    assert samples(take) == TONE


@pytest.mark.parametrize(
    ("format", "media_type"), [("MP3", "audio/mpeg"), ("OGG", "audio/ogg"), ("FLAC", "audio/flac")]
)
@pytest.mark.parametrize("rate", [24_000, 44_100])
async def test_compressed_sound_is_decoded_once_it_is_whole(format: str, media_type: str, rate: int) -> None:
    tone = (np.sin(np.arange(rate) * 2 * np.pi * 440 / rate) * 8_000).astype("<i2").tobytes()
    async with speech(sending(encoded(tone, format, rate), media_type, (999,))) as (engine, server):
        (audio,) = await pieces(engine, "Hello.")
        assert len(server.requests) == 1
    assert isinstance(audio, Audio)
    assert (audio.rate, audio.seconds) == (24_000, pytest.approx(1, abs=0.1))
    assert correlation(audio.samples) > 0.95


@pytest.mark.parametrize(
    ("format", "asked"), [("wav", ["pcm", "wav", "wav"]), ("mp3", ["pcm", "wav", "mp3", "mp3"])]
)
async def test_a_format_that_the_server_does_not_have_is_left_out_from_then_on(format: str, asked: list[str]) -> None:
    async with speech(only(format, encoded(TONE, format.upper()))) as (engine, server):
        for _ in range(2):
            assert correlation(samples(await pieces(engine, "Hello."))) > 0.95
        assert [request.body["response_format"] for request in server.requests] == asked


async def test_another_refusal_is_not_taken_for_one_of_the_format() -> None:
    problem = {"error": {"message": "Unknown voice.", "type": "invalid_request_error", "param": "voice", "code": None}}
    async with speech(lambda _: refusal(400, problem), voice="nobody") as (engine, server):
        error = await failure(engine, "Hello.")
        assert len(server.requests) == 1
    assert (error.code, error.message) == ("request_refused", "The speech server 127.0.0.1: Unknown voice.")


# -- no sound ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "media_type", "code", "words"),
    [
        (b'{"error": {"message": "Broken.", "type": "server_error"}}', "audio/pcm", "engine_failed", "Broken."),
        (b'{"detail": "Broken."}', "application/json", "engine_failed", "Broken."),
        (b'{"ok": true}', "application/json", "bad_audio", "JSON"),
        (b"  <html>Bad gateway</html>", "text/html", "bad_audio", "web page"),
        (b"", "audio/pcm", "bad_audio", "no audio at all"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav", "bad_audio", "ends in its header"),
        (b"RIFF\0\0\0\0WAVEdata\0\0\0\0", "audio/wav", "bad_audio", "does not say how"),
        (b"ID3" + b"\0" * 500, "audio/mpeg", "bad_audio", "cannot be read here"),
        (b"\xff\xf1" + b"\0" * 500, "audio/aac", "bad_audio", "cannot be read here"),
    ],
)
async def test_a_200_without_sound_is_an_error(body: bytes, media_type: str, code: str, words: str) -> None:
    async with speech(sending(body, media_type, (5, 1_000))) as (engine, server):
        error = await failure(engine, "Hello.")
        assert len(server.requests) == 1
    assert error.code == code
    assert words in error.message


async def test_sound_that_begins_like_an_error_is_sound() -> None:
    content = b'{"' + TONE
    async with speech(sending(content)) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == content
    async with speech(sending(content * 3)) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == content * 3


@pytest.mark.parametrize("sound", [TONE, encoded(TONE, "WAV"), encoded(TONE, "MP3")], ids=["pcm", "wav", "mp3"])
async def test_a_body_cut_in_the_middle_is_an_error_and_not_an_end(sound: bytes) -> None:
    media_type = "audio/mpeg" if sound[:4] not in (b"RIFF", TONE[:4]) else "audio/wav"
    async with speech(lambda _: Answer(200, media_type, [sound[:9_999]], cut=True)) as (engine, server):
        assert (await failure(engine, "Hello.")).code == "take_cut_short"
        assert len(server.requests) == 1


@pytest.mark.parametrize("text", ["👍", "…"])
async def test_a_text_without_a_word_is_an_empty_take_and_asks_nobody(text: str) -> None:
    async with speech(sending(TONE)) as (engine, server):
        assert await pieces(engine, text) == []
        assert server.requests == []
