"""What a listener gets to hear, recorded sample by sample: every sample of every take once and in order."""

import base64

import numpy as np
import pytest
from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import RATE, encoded, joined, ruler_samples

TINY_BLOCKS = [1, 3, 4]  # bytes
BLOCKS = [*TINY_BLOCKS, 100, 127, 128, 129, 4096, 48001, "random"]


@run_in_pyodide
async def spoken(selenium_ruler, plans, at_once=False):
    """What is heard of a reply whose units are the texts of `plans`, and what `inspect()` says afterwards.

    `at_once`: the clock stands until all audio is here, so that nothing can come too late.
    """
    from ruler import Stage

    async with Stage() as stage:
        for text, plan in plans.items():
            stage.plan(text, **plan)
        if at_once:
            await stage.context.suspend()
        stage.say(*plans)
        if at_once:
            await stage.until(lambda: all(e.all_received for e in stage.voice.reading.conductor.entries))
            await stage.context.resume()
        await stage.until("idle")
        pieces = await stage.pieces()
        seen = stage.inspect()
    return pieces, seen


@pytest.mark.parametrize(
    ("format", "chunk"),
    [("ndjson", chunk) for chunk in BLOCKS]
    + [(other, chunk) for other in ("pcm", "wav") for chunk in (1, 3, 127, "random")],
)
def test_no_seam_between_blocks_of_a_take(selenium_ruler, format, chunk):
    frames = 601 if chunk in TINY_BLOCKS else 4_801
    plan = {"take": 1, "frames": frames, "chunk": chunk, "format": format}
    pieces, seen = spoken(selenium_ruler, {"One.": plan}, at_once=True)
    assert [piece[:3] for piece in pieces] == [[1, 0, frames]]
    assert seen["units"][0]["frames_played"] == seen["units"][0]["frames_received"] == frames


def test_no_seam_between_takes_whose_audio_is_there(selenium_ruler):
    texts = ("One.", "Two.", "Three.", "Four.")
    plans = {text: {"take": take, "frames": 3_001 + take, "chunk": 999} for take, text in enumerate(texts)}
    pieces, _ = spoken(selenium_ruler, plans, at_once=True)
    assert [piece[:3] for piece in pieces] == [[take, 0, 3_001 + take] for take in range(4)]
    ends = [at + frames for _, _, frames, at in pieces]
    assert [at for _, _, _, at in pieces[1:]] == ends[:-1]


def test_a_take_sounds_while_it_streams(selenium_ruler):
    plan = {"take": 1, "frames": 9_000, "chunk": 100_000, "pauses": [[6_000, 0.6]]}
    pieces, seen = spoken(selenium_ruler, {"One.": plan})
    assert joined(pieces) == [(1, 0, 6_000), (1, 6_000, 3_000)]
    assert seen["counts"]["live_nodes"] == 2  # the output and the bus; what has sounded was given back on the way


@pytest.mark.parametrize(
    "wav",
    [
        {"size": 0},
        {"size": 0xFFFFFFFF},
        {"extra": 30},
        {"after": "LIST and more that is no sound"},
    ],
    ids=["size 0", "size unknown", "a list before the data", "chunks after the data"],
)
def test_a_wav_of_any_making_is_played_from_its_first_sample_to_its_last(selenium_ruler, wav):
    plan = {"take": 2, "frames": 2_001, "chunk": 10, "format": "wav", "wav": wav}
    pieces, _ = spoken(selenium_ruler, {"One.": plan}, at_once=True)
    assert [piece[:3] for piece in pieces] == [[2, 0, 2_001]]


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", subtype) for subtype in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")]
    + [("WAVEX", "PCM_16"), ("WAVEX", "FLOAT"), ("RF64", "PCM_16")],
)
def test_wav_samples_of_every_size_are_read(selenium_ruler, format, subtype):
    step = 256 if subtype == "PCM_U8" else 1
    samples = ruler_samples(3, 3_000) // step * step
    plan = {"file": encoded(samples, format, subtype), "type": "audio/wav"}
    pieces, _ = spoken(selenium_ruler, {"One.": plan}, at_once=True)
    assert sum(frames for _, _, frames, _ in pieces) == 3_000
    if step == 1:
        assert [piece[:3] for piece in pieces] == [[3, 0, 3_000]]


@pytest.mark.parametrize(
    ("type", "order"),
    [
        ("audio/L16;codec=pcm;rate=24000", "<i2"),  # as Gemini answers
        ("audio/l16; rate=24000; channels=1", "<i2"),  # as Amazon and Deepgram have it
        ("audio/l16; rate=24000; endianness=big-endian", ">i2"),  # as IBM does if it is asked to
    ],
)
def test_l16_is_little_endian_unless_it_says_otherwise(selenium_ruler, type, order):
    """RFC 2586 would have it the other way round; no service that speaks over HTTP does."""
    content = base64.b64encode(ruler_samples(4, 2_001).astype(order).tobytes()).decode()
    pieces, _ = spoken(selenium_ruler, {"One.": {"file": content, "type": type}}, at_once=True)
    assert [piece[:3] for piece in pieces] == [[4, 0, 2_001]]


def test_a_compressed_file_is_decoded_whole(selenium_ruler):
    plan = {"file": encoded(ruler_samples(5, 6_000), "FLAC", "PCM_16"), "type": "audio/flac"}
    pieces, _ = spoken(selenium_ruler, {"One.": plan})
    assert [piece[:3] for piece in pieces] == [[5, 0, 6_000]]


@run_in_pyodide
async def tone(selenium_ruler, rate, frequency, amplitude, frames):
    """Samples heard of a pure tone that comes as raw PCM of another rate, in blocks of odd sizes."""
    import math

    import js
    from pyodide.ffi import to_js
    from ruler import Stage

    values = [round(amplitude * 32768 * math.sin(2 * math.pi * frequency * i / rate)) for i in range(frames)]
    async with Stage() as stage:
        content = js.Int16Array.new(to_js(values)).buffer
        stage.plan("One.", sound=content, format="pcm", type=f"audio/pcm; rate={rate}", chunk=701)
        await stage.context.suspend()
        stage.say("One.")
        await stage.until(lambda: stage.voice.reading.conductor.entries[0].all_received)
        await stage.context.resume()
        await stage.until("idle")
        await stage.advance(0.05)
        return [sample for block in js.sound.blocks for sample in block[1].to_py()]


@pytest.mark.parametrize("rate", [22_050, 48_000])
def test_a_take_at_another_rate_is_heard_without_a_click_or_an_image(selenium_ruler, rate):
    frequency, seconds = 1_000, 0.4
    heard = np.array(tone(selenium_ruler, rate, frequency, 0.5, int(rate * seconds)))
    sounding = np.flatnonzero(np.abs(heard) > 0.01)
    middle = heard[sounding[0] + 480 : sounding[-1] - 480]  # without the edges, where a tone is no pure tone
    assert len(middle) == pytest.approx(RATE * seconds, abs=1_200)
    times = np.arange(len(middle)) / RATE
    basis = np.stack([wave(2 * np.pi * frequency * times) for wave in (np.sin, np.cos)], axis=1)
    fit, *_ = np.linalg.lstsq(basis, middle, rcond=None)
    assert np.hypot(*fit) == pytest.approx(0.5, rel=1e-3)
    rest = middle - basis @ fit
    assert 20 * np.log10(np.sqrt(np.mean(rest**2)) / 0.5) < -80  # dB below the tone

