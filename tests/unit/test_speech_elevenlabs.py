"""ElevenLabs over a server that speaks its wire: what is sent, what is made of the answer, which way is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from onetake.heard import Heard, Pace
from onetake.server.speech.elevenlabs import ElevenLabs
from onetake.server.speech.engine import Alignment, Limit
from onetake.spoken import for_engine
from tests.speech_servers import (
    STREAMED,
    TIMED,
    WHOLE,
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
    timed_line,
)

pytestmark = pytest.mark.anyio

SOUND = bytes(range(250)) * 100
TEXT = "  [softly] 안녕 \u2028 “Rest”.\n\n\tÉ😀 \\u00e9 "


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def timed(*lines: bytes) -> Callable[[Request], Answer]:
    return lambda _: Answer(200, "application/json", lines)


@asynccontextmanager
async def elevenlabs(
    reply: Callable[[Request], Answer], **choices: Any
) -> AsyncIterator[tuple[ElevenLabs, SpeechServer]]:
    async with SpeechServer(reply) as server:
        engine = ElevenLabs("sk-one", url=server.url, **{"voices": ["v1"], **choices})
        try:
            yield engine, server
        finally:
            await engine.aclose()


async def test_a_unit_is_one_request_with_its_text_as_it_is_and_nothing_to_stitch() -> None:
    async with elevenlabs(timed(timed_line(SOUND))) as (engine, server):
        await pieces(engine, TEXT)
    (request,) = server.requests
    assert (request.method, request.target) == (
        "POST",
        "/v1/text-to-speech/v1/stream/with-timestamps?output_format=pcm_24000",
    )
    assert request.body == {"text": TEXT, "model_id": "eleven_v3"}
    assert request.headers["xi-api-key"] == "sk-one"


async def test_a_unit_sent_is_byte_for_byte_what_for_engine_gave() -> None:
    raw = "It is [softly] fine.\n\nRest 😀."
    async with elevenlabs(timed(timed_line(SOUND))) as (engine, server):
        await pieces(engine, for_engine(raw, engine.voices[0].audio_tags).text)
    assert server.requests[0].body["text"].encode() == raw.encode()


async def test_the_sound_is_whole_whatever_the_chunks() -> None:
    lines = timed_line(SOUND[:9_001], "He") + b"\n" + timed_line(SOUND[9_001:], "llo", 0.1).rstrip(b"\n")
    for sizes in ([1_000_000], [1, 2, 3, 500], [4_097]):
        parts = in_parts(lines, sizes)
        async with elevenlabs(timed(*parts)) as (engine, _):
            take = await pieces(engine, "Hello")
        assert samples(take) == SOUND
        assert [char for each in take if isinstance(each, Alignment) for char in each.chars] == list("Hello")


async def test_each_line_is_passed_on_before_the_next_one_comes() -> None:
    gate = asyncio.Event()
    async with elevenlabs(lambda _: Answer(200, None, [timed_line(SOUND), gate])) as (engine, _):
        take = engine.synthesise("Hello", "elevenlabs:v1", 1.0)
        assert samples([await soon(anext(take))]) == SOUND
        await take.aclose()


async def test_times_count_from_the_take_even_where_the_service_counts_from_each_piece() -> None:
    lines = (timed_line(SOUND[:24_000], "ab"), timed_line(SOUND[:24_000], "cd"))  # half a second each
    async with elevenlabs(timed(*lines)) as (engine, _):
        take = await pieces(engine, "abcd")
    starts = [start for each in take if isinstance(each, Alignment) for start in each.starts]
    assert starts == pytest.approx([0, 0.05, 0.5, 0.55])


async def test_an_alignment_that_sticks_costs_no_sound_and_the_heard_position_reaches_the_end() -> None:
    stuck = timed_line(SOUND, "abcdefgh", start_s=0.2, each_s=0.0)
    async with elevenlabs(timed(stuck, stuck)) as (engine, _):
        take = await pieces(engine, "abcdefgh" * 2)
    heard = Heard(for_engine("abcdefgh" * 2, False), Pace())
    for each in take:
        if isinstance(each, Alignment):
            heard.align(each.chars, each.starts, each.ends)
    heard.received(len(samples(take)) / 48_000, complete=True)
    positions = [heard.at(played / 100) for played in range(120)]
    assert positions == sorted(positions)
    assert positions[-1] == 16


@pytest.mark.parametrize(
    "alignment",
    ["null", "[]", '{"characters": ["a"]}', '{"characters": [1], "character_start_times_seconds": [0], '
     '"character_end_times_seconds": [0]}'],
)  # fmt: skip
async def test_an_alignment_that_cannot_be_read_is_left_out(alignment: str) -> None:
    line = f'{{"audio_base64": "AAAA", "alignment": {alignment}}}\n'.encode()
    async with elevenlabs(timed(line)) as (engine, _):
        assert [type(piece).__name__ for piece in await pieces(engine, "a")] == ["Audio"]


# -- which way -----------------------------------------------------------------------------------------------

UNSUPPORTED = {
    "detail": {"type": "validation_error", "code": "unsupported_model", "message": "No.", "status": "unsupported_model"}
}
DECLINED = [
    refusal(400, UNSUPPORTED),
    refusal(404, {"detail": "Not Found"}),
    refusal(405, {"detail": "Method Not Allowed"}),
    refusal(501, {"detail": "needs a transcriber"}),
]


@pytest.mark.parametrize("declined", DECLINED, ids=lambda answer: str(answer.status))
@pytest.mark.parametrize(("works", "asked"), [(STREAMED, [TIMED, STREAMED]), (WHOLE, [TIMED, STREAMED, WHOLE])])
async def test_a_way_that_the_model_refuses_is_left_out_from_then_on(
    declined: Answer, works: str, asked: list[str]
) -> None:
    def reply(request: Request) -> Answer:
        return Answer(200, "audio/pcm", [SOUND]) if request.way == works else declined

    async with elevenlabs(reply) as (engine, server):
        assert engine.voices[0].timing == "char"
        assert samples(await pieces(engine, "One.")) == SOUND
        assert samples(await pieces(engine, "Two.")) == SOUND
        assert [request.way for request in server.requests] == [*asked, works]
        assert engine.voices[0].timing == "none"


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (401, {"detail": {"status": "invalid_api_key", "message": "Bad key."}}, "key_refused"),
        (401, {"detail": {"status": "quota_exceeded", "message": "Empty."}}, "quota_exceeded"),
        (403, {"detail": {"status": "only_for_creator+", "message": "Upgrade."}}, "key_refused"),
        (400, {"detail": {"status": "max_character_limit_exceeded", "message": "Too long."}}, "text_too_long"),
        (404, {"detail": {"status": "voice_not_found", "message": "Who?"}}, "voice_not_found"),
        (400, {"detail": {"status": "voice_not_found", "message": "Who?"}}, "voice_not_found"),
        (422, {"detail": [{"loc": ["body", "text"], "msg": "field required", "type": "x"}]}, "request_refused"),
    ],
)
async def test_a_request_or_an_account_that_is_refused_is_not_asked_another_way(
    status: int, said: Any, code: str
) -> None:
    async with elevenlabs(lambda _: refusal(status, said)) as (engine, server):
        error = await failure(engine, "Hello.")
        assert len(server.requests) == 1
        assert engine.voices[0].timing == "char"
    assert error.code == code
    words = said["detail"]["message"] if isinstance(said["detail"], dict) else "body.text: field required"
    assert error.message == f"ElevenLabs: {words}"


async def test_a_model_that_refuses_every_way_says_so_and_is_asked_anew_next_time() -> None:
    async with elevenlabs(lambda _: refusal(400, UNSUPPORTED)) as (engine, server):
        assert (await failure(engine, "One.")).code == "request_refused"
        assert (await failure(engine, "Two.")).code == "request_refused"
        assert [request.way for request in server.requests] == [TIMED, STREAMED, WHOLE] * 2


async def test_takes_at_once_may_find_out_different_ways_and_all_are_whole() -> None:
    gate = asyncio.Event()

    def reply(request: Request) -> Answer:
        if request.way == TIMED and request.body["text"] == "One.":
            return Answer(200, None, [timed_line(SOUND)], head_waits=gate)
        return refusal(400, UNSUPPORTED) if request.way == TIMED else Answer(200, "audio/pcm", [SOUND])

    async with elevenlabs(reply) as (engine, server):
        first = asyncio.create_task(pieces(engine, "One."))
        await soon(server.arrivals.get())
        assert samples(await pieces(engine, "Two.")) == SOUND
        gate.set()
        assert samples(await soon(first)) == SOUND
        assert engine.voices[0].timing == "none"


async def test_plain_sound_with_a_riff_header_is_read_as_wav() -> None:
    def reply(request: Request) -> Answer:
        return refusal(400, UNSUPPORTED) if request.way == TIMED else Answer(200, "audio/pcm", [encoded(SOUND, "WAV")])

    async with elevenlabs(reply) as (engine, _):
        assert samples(await pieces(engine, "Hello.")) == SOUND


# -- what else may come --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (b'{"detail": {"status": "system_busy", "message": "Busy."}}', "engine_busy", "Busy."),
        (b'{"detail": "Something broke."}', "engine_failed", "Something broke."),
        (b"<html>bad gateway</html>", "bad_audio", "no part of a take"),
        (b'{"audio_base64": "?"}', "bad_audio", "not base64"),
        (b"[1]", "bad_audio", "no part of a take"),
        (b"{}", "bad_audio", "no part of a take"),
        (b"", "bad_audio", "no audio at all"),
    ],
)
async def test_a_200_that_holds_no_take_is_an_error(line: bytes, code: str, words: str) -> None:
    async with elevenlabs(timed(line)) as (engine, server):
        error = await failure(engine, "Hello.")
        assert len(server.requests) == 1
    assert error.code == code
    assert words in error.message


async def test_an_error_after_sound_ends_the_take_and_is_not_asked_again() -> None:
    async with elevenlabs(timed(timed_line(SOUND), b'{"detail": {"status": "system_busy", "message": "x"}}')) as (
        engine,
        server,
    ):
        take = engine.synthesise("Hello", "elevenlabs:v1", 1.0)
        assert samples([await anext(take)]) == SOUND
        with pytest.raises(Exception, match="ElevenLabs: x"):
            await anext(take)
        assert len(server.requests) == 1


@pytest.mark.parametrize("text", ["👍", "…", "—\n"])
async def test_a_text_without_a_word_is_an_empty_take_and_asks_nobody(text: str) -> None:
    async with elevenlabs(timed(timed_line(SOUND))) as (engine, server):
        assert await pieces(engine, text) == []
        assert server.requests == []


# -- what is told of a model ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "audio_tags", "limit"),
    [
        ("eleven_v3", True, 5_000),
        ("eleven_v4_turbo", True, 10_000),
        ("eleven_multilingual_v2", False, 10_000),
        ("eleven_flash_v2_5", False, 40_000),
        ("eleven_turbo_v2", False, 30_000),
        ("some_new_model", False, 5_000),
    ],
)
async def test_each_model_tells_its_own_tags_and_limit(model: str, audio_tags: bool, limit: int) -> None:
    voice = ElevenLabs("key", model=model).voices[0]
    assert (voice.audio_tags, voice.limit) == (audio_tags, Limit(limit, "characters"))


async def test_speed_is_sent_to_models_that_know_it_and_only_if_it_is_asked_for() -> None:
    async with elevenlabs(timed(timed_line(SOUND)), model="eleven_flash_v2_5") as (engine, server):
        await pieces(engine, "Hello.", 1.1)
        assert server.requests[0].body["voice_settings"] == {"speed": 1.1}
        assert engine.voices[0].speeds == (0.7, 1.2)
    assert ElevenLabs("key").voices[0].speeds == (1.0, 1.0)


async def test_the_account_tells_how_many_takes_it_may_have_at_once() -> None:
    told = Answer(200, None, [timed_line(SOUND)], {"maximum-concurrent-requests": "7"})
    async with elevenlabs(lambda _: told) as (engine, _):
        assert engine.voices[0].concurrency == 2
        await pieces(engine, "Hello.")
        assert engine.voices[0].concurrency == 7


async def test_a_voice_id_cannot_leave_its_place_in_the_address() -> None:
    async with elevenlabs(timed(timed_line(SOUND)), voices=["../../v1/user"]) as (engine, server):
        await pieces(engine, "Hello.")
    assert server.requests[0].path == "/v1/text-to-speech/..%2F..%2Fv1%2Fuser/stream/with-timestamps"
