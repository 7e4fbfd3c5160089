"""The local voice as it is installed: what is heard, how loud, and what a take costs that is left."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import anyio
import hibari
import numpy as np
import pytest
import soxr
from pocketsphinx import Decoder

from onetake.server.speech import espeak_voice, open_engines
from onetake.server.speech.engine import Alignment, Audio, Engine, EngineError
from onetake.server.speech.sound import EDGE, RATE

pytestmark = pytest.mark.anyio

ENGLISH = "We have two meetings on Monday morning. The first one is about the new design."
KOREAN = "안녕하세요. 오늘은 회의가 두 개 있어요. 아홉 시 반에 안나와 만나요."
LONG_KOREAN = KOREAN * 20


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def local() -> Iterator[Engine]:
    (engine,), absences = open_engines({})
    assert [absence for absence in absences if absence.wanted] == []
    yield engine
    asyncio.run(engine.aclose())


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[anyio.abc.Process]:
    """The processes that the takes of this test have started."""
    started: list[anyio.abc.Process] = []
    open_process = anyio.open_process

    async def noting(*command: Any, **how: Any) -> anyio.abc.Process:
        started.append(await open_process(*command, **how))
        return started[-1]

    monkeypatch.setattr(anyio, "open_process", noting)
    return started


@pytest.fixture
def sentences(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The phonemes of each sentence that hibari has computed in this test."""
    said: list[str] = []
    compute = hibari.Hibari.from_phonemes

    def noting(model: hibari.Hibari, phonemes: str, *how: Any, **more: Any) -> np.ndarray:
        said.append(phonemes)
        return compute(model, phonemes, *how, **more)

    monkeypatch.setattr(hibari.Hibari, "from_phonemes", noting)
    return said


async def take(engine: Engine, text: str, speed: float = 1.0) -> np.ndarray:
    """The whole sound of one take."""
    sound = bytearray()
    async for piece in engine.synthesise(text, "local", speed):
        if isinstance(piece, Audio):
            assert (piece.rate, piece.channels) == (RATE, 1)
            sound += piece.samples
    return np.frombuffer(bytes(sound), "<i2")


async def timing(engine: Engine, text: str, speed: float = 1.0) -> list[tuple[str, float, float]]:
    """Each word of a take with its times, in seconds; a word is what has no white space in it."""
    chars: list[str] = []
    starts: list[float] = []
    ends: list[float] = []
    async for piece in engine.synthesise(text, "local", speed):
        if isinstance(piece, Alignment):
            chars += piece.chars
            starts += piece.starts
            ends += piece.ends
    assert "".join(chars) == text[: len(chars)]
    assert starts == sorted(starts)
    words = [match.span() for match in re.finditer(r"\S+", "".join(chars))]
    return [(text[start:end], starts[start], ends[end - 1]) for start, end in words]


def seconds(sound: np.ndarray) -> float:
    return len(sound) / RATE


def loudness(sound: np.ndarray) -> float:
    """Integrated loudness in LUFS by ITU-R BS.1770-4, with its filters (given at 48 kHz) as a spectrum."""
    wave = sound / 32768
    z = np.exp(-2j * np.pi * np.fft.rfftfreq(len(wave), 1 / RATE) / 48_000)
    shelf = (1.53512485958697 - 2.69169618940638 * z + 1.19839281085285 * z**2) / (
        1 - 1.69065929318241 * z + 0.73248077421585 * z**2
    )
    highpass = (1 - 2 * z + z**2) / (1 - 1.99004745483398 * z + 0.99007225036621 * z**2)
    weighted = np.fft.irfft(np.fft.rfft(wave) * shelf * highpass, len(wave))
    blocks = np.lib.stride_tricks.sliding_window_view(weighted, RATE * 4 // 10)[:: RATE // 10]
    power = np.mean(blocks**2, axis=1)
    level = -0.691 + 10 * np.log10(power + 1e-12)
    power, level = power[level > -70], level[level > -70]
    gate = -0.691 + 10 * np.log10(power.mean()) - 10
    return float(-0.691 + 10 * np.log10(power[level > gate].mean()))


def words_in_order(text: str) -> list[str]:
    """The words of a text as a recogniser writes them."""
    return re.findall(r"[a-z']+", text.lower())


def words(sound: np.ndarray) -> list[str]:
    """What an English recogniser hears."""
    decoder = Decoder(samprate=16_000, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(soxr.resample(sound, RATE, 16_000).tobytes(), full_utt=True)
    decoder.end_utt()
    return decoder.hyp().hypstr.split()


async def test_an_english_take_says_its_words_in_order(local: Engine) -> None:
    heard = words(await take(local, ENGLISH))
    assert heard == words_in_order(ENGLISH)


async def test_words_are_timed_where_a_recogniser_hears_them(local: Engine) -> None:
    """By forced alignment, which begins a word earlier, at the closure of its first consonant."""
    sound = await take(local, ENGLISH)
    spoken = words_in_order(ENGLISH)
    decoder = Decoder(samprate=16_000, loglevel="FATAL")
    decoder.set_align_text(" ".join(spoken))
    decoder.start_utt()
    decoder.process_raw(soxr.resample(sound, RATE, 16_000).tobytes(), full_utt=True)
    decoder.end_utt()
    heard = [(seg.word, seg.start_frame / 100) for seg in decoder.seg() if re.match(r"[a-z]", seg.word)]
    told = await timing(local, ENGLISH)
    assert [re.sub(r"\(.*", "", word) for word, _ in heard] == spoken
    off = [start_s - heard_s for (_, heard_s), (_, start_s, _) in zip(heard, told, strict=True)]
    assert max(map(abs, off)) < 0.2
    assert sum(off) / len(off) == pytest.approx(0, abs=0.12)
    assert told[-1][2] <= seconds(sound)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $12.50, I think. At 9:30 we leave.",
        "## See **the** [docs](https://example.com)\n\n- one `two`\n- three",
        "Well — “yes”, 👍 he said.",
        "word " * 300,
    ],
)
async def test_every_word_is_timed_in_order_where_it_stands_in_the_text(local: Engine, text: str) -> None:
    told = await timing(local, text)
    expected = [word for word in text.split() if any(map(str.isalnum, word))]
    assert [word for word, _, _ in told if any(map(str.isalnum, word))] == expected
    assert all(start_s <= end_s for _, start_s, end_s in told)


async def test_at_twice_the_speed_words_come_in_half_the_time(local: Engine) -> None:
    usual, fast = await timing(local, ENGLISH), await timing(local, ENGLISH, speed=2.0)
    assert fast[-1][1] / usual[-1][1] == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("text", [KOREAN, "Cafe\u0301 noir."])
async def test_a_text_whose_words_cannot_be_timed_is_spoken_without_times(local: Engine, text: str) -> None:
    assert await timing(local, text) == []
    assert seconds(await take(local, text)) > 0.3


async def test_a_pause_between_sentences_is_that_of_a_speaker(local: Engine) -> None:
    loud = np.flatnonzero(np.abs(await take(local, "Yes. No.")) > 0.003 * 32768)
    assert 0.3 < np.diff(loud).max() / RATE < 0.5


async def test_a_korean_take_lasts_as_long_as_its_syllables(local: Engine) -> None:
    syllables = sum(character.isalpha() for character in KOREAN)
    assert 0.1 < seconds(await take(local, KOREAN)) / syllables < 0.35


@pytest.mark.parametrize("text", [ENGLISH, KOREAN, "Привет, как дела? Сегодня хорошая погода."])
async def test_every_voice_is_near_minus_twenty_lufs_and_not_clipped(local: Engine, text: str) -> None:
    sound = await take(local, text)
    assert loudness(sound) == pytest.approx(-20, abs=2)
    assert np.abs(sound.astype(int)).max() < 32767


@pytest.mark.parametrize("text", [ENGLISH, KOREAN])
async def test_a_take_begins_and_ends_without_a_wait(local: Engine, text: str) -> None:
    loud = np.flatnonzero(np.abs(sound := await take(local, text)) > 0.003 * 32768)
    assert loud[0] <= EDGE
    assert len(sound) - loud[-1] <= EDGE + 1


@pytest.mark.parametrize("text", [ENGLISH, KOREAN])
async def test_twice_the_speed_takes_about_half_the_time(local: Engine, text: str) -> None:
    usual, fast = await take(local, text), await take(local, text, speed=2.0)
    assert 0.4 < seconds(fast) / seconds(usual) < 0.65


@pytest.mark.parametrize("text", ["👍", "🎉🎉 👍", "...", "— !?", "**", "\u200b", "\0", "\u0300"])
async def test_a_text_with_nothing_to_say_is_an_empty_take(local: Engine, text: str) -> None:
    assert len(await take(local, text)) == 0


@pytest.mark.parametrize("text", ["안녕\0하세요", "안녕\ud800하세요", "[[안녕]] <b>하세요</b> & 'x'"])
async def test_odd_korean_texts_are_spoken_to_their_end(local: Engine, text: str) -> None:
    assert seconds(await take(local, text)) > 0.1 * sum(each.isalpha() for each in text)


LONG = (
    "한국은 ",
    "한",
    "네. ",
    "안녕 ok ",
    "привет ",
    "при",
    "नमस्ते",
    "สวัสดี",
    "かたな",
    "ＯＫです",
    "天",
    "天，",
)


@pytest.mark.parametrize("text", LONG)
async def test_nothing_of_a_long_text_is_left_out(local: Engine, text: str) -> None:
    short, long = await take(local, text * 10), await take(local, text * 120)
    assert seconds(long) == pytest.approx(12 * seconds(short), rel=0.1)


async def test_a_sentence_without_end_is_said_in_bounded_parts(local: Engine, sentences: list[str]) -> None:
    sound = await take(local, "word " * 300)
    assert seconds(sound) > 60
    assert max(map(len, sentences)) <= 400


async def test_the_first_sentence_sounds_before_the_next_is_computed(
    local: Engine, sentences: list[str]
) -> None:
    async with aclosing(local.synthesise("This is a sentence. " * 50, "local", 1.0)) as sound:
        await anext(sound)
        assert len(sentences) == 1


async def test_a_left_english_take_stops_and_the_next_one_starts_at_once(
    local: Engine, sentences: list[str]
) -> None:
    async with aclosing(local.synthesise("This is a sentence. " * 200, "local", 1.0)) as sound:
        while len(sentences) < 2:
            await anext(sound)
    await take(local, "Next.")
    assert len(sentences) == 3


async def test_an_english_take_cancelled_in_mid_sentence_stops_there(
    local: Engine, sentences: list[str]
) -> None:
    async def listen() -> None:
        await take(local, "This is a sentence. " * 200)

    listening = asyncio.create_task(listen())
    async with aclosing(local.synthesise("One. Two.", "local", 1.0)) as other:
        await anext(other)  # so the worker is at the first take, or has its next sentence before it
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        await anext(other)
    assert len(sentences) <= 4


async def test_takes_at_once_are_each_whole(local: Engine) -> None:
    texts = [ENGLISH, KOREAN, "Hello there.", "네, 알겠어요."] * 3
    alone = [await take(local, text) for text in texts[:4]] * 3
    together = await asyncio.gather(*(take(local, text) for text in texts))
    assert all(map(np.array_equal, together, alone))


async def test_a_left_korean_take_ends_its_process(local: Engine, children: list[anyio.abc.Process]) -> None:
    async with aclosing(local.synthesise(LONG_KOREAN, "local", 1.0)) as sound:
        await anext(sound)
        assert children[0].returncode is None
    assert children[0].returncode == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):  # not even a zombie is left
        os.kill(children[0].pid, 0)


async def test_a_cancelled_korean_take_ends_its_process(
    local: Engine, children: list[anyio.abc.Process]
) -> None:
    begun = asyncio.Event()

    async def listen() -> None:
        async for _ in local.synthesise(LONG_KOREAN, "local", 1.0):
            begun.set()
            await asyncio.Event().wait()

    async with anyio.create_task_group() as listening:
        listening.start_soon(listen)
        await begun.wait()
        listening.cancel_scope.cancel()
    await take(local, "다음.")
    assert [child.returncode for child in children] == [-signal.SIGKILL, 0]


async def test_a_whole_korean_take_leaves_no_process(
    local: Engine, children: list[anyio.abc.Process]
) -> None:
    await take(local, KOREAN)
    assert [child.returncode for child in children] == [0]


async def test_a_process_that_dies_is_an_error_and_not_an_end(
    local: Engine, children: list[anyio.abc.Process]
) -> None:
    async with aclosing(local.synthesise(LONG_KOREAN, "local", 1.0)) as sound:
        await anext(sound)
        children[0].kill()
        with pytest.raises(EngineError, match="broke off") as caught:
            async for _ in sound:
                pass
    assert caught.value.code == "engine_failed"


async def test_a_process_that_stalls_is_ended_and_told(
    local: Engine, children: list[anyio.abc.Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(espeak_voice, "SILENT_S", 0.3)
    async with aclosing(local.synthesise(LONG_KOREAN, "local", 1.0)) as sound:
        await anext(sound)
        children[0].send_signal(signal.SIGSTOP)
        with pytest.raises(EngineError, match="silent") as caught:
            async for _ in sound:
                pass
    assert caught.value.code == "engine_timeout"
    assert children[0].returncode == -signal.SIGKILL


async def test_a_missing_espeak_voice_is_named() -> None:
    with pytest.raises(EngineError, match="no voice 'xx'"):
        await anext(espeak_voice.Espeak().sound("Hello.", "xx", 1.0))


async def test_the_text_is_not_on_the_command_line(local: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[Any] = []
    open_process = anyio.open_process

    async def noting(command: Any, **how: Any) -> anyio.abc.Process:
        commands.append(command)
        return await open_process(command, **how)

    monkeypatch.setattr(anyio, "open_process", noting)
    await take(local, KOREAN)
    assert all(KOREAN not in part for command in commands for part in command)


async def test_warming_says_one_word_to_nobody(local: Engine, sentences: list[str]) -> None:
    await local.warm()
    assert len(sentences) == 1
