"""The shape of a local take: trimmed ends, kept pauses, no clipping, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.server.speech.sound import EDGE, RATE, Shape


def tone(seconds: float, level: float = 0.2) -> np.ndarray:
    return (level * np.sin(np.arange(round(seconds * RATE)) * 0.1 + 0.5)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def shaped(*blocks: np.ndarray, gain: float = 1.0) -> np.ndarray:
    shape = Shape(gain)
    sound = b"".join([shape.feed(block) for block in blocks] + [shape.finish()])
    return np.frombuffer(sound, "<i2")


def test_both_ends_keep_fifty_milliseconds_of_silence() -> None:
    sound = shaped(silence(0.3), tone(1), silence(0.4))
    loud = np.flatnonzero(np.abs(sound) > 100)
    assert loud[0] == pytest.approx(EDGE, abs=3)
    assert len(sound) - loud[-1] == pytest.approx(EDGE, abs=3)


def test_less_silence_than_that_stays_as_it_is() -> None:
    assert len(shaped(silence(0.02), tone(0.1), silence(0.01))) == round(0.13 * RATE)


def test_a_pause_within_the_take_keeps_its_length() -> None:
    assert len(shaped(tone(0.5), silence(0.7), silence(0.3), tone(0.5))) == pytest.approx(2 * RATE, abs=3)


def test_silence_alone_is_an_empty_take() -> None:
    assert len(shaped(silence(0.5), silence(0.5))) == 0


def test_no_sample_is_clipped_however_loud_the_engine_is() -> None:
    sound = shaped(tone(0.5, level=1.0), gain=2.0)
    assert np.abs(sound.astype(int)).max() < 32767
    assert len(np.unique(sound)) > 1000


def test_moderate_sound_is_only_scaled() -> None:
    sound = shaped(tone(0.5, level=0.3), gain=2.0)
    assert np.abs(sound / 32767 - 2 * tone(0.5, level=0.3)).max() < 1 / 32767


@given(st.lists(st.integers(0, 40_000), max_size=12))
def test_any_split_into_blocks_gives_the_same_sound(cuts: list[int]) -> None:
    whole = np.concatenate((silence(0.2), tone(0.3), silence(0.4), tone(0.3), silence(0.2)))
    assert np.array_equal(shaped(*np.split(whole, sorted(cuts))), shaped(whole))
