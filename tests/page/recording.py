"""What was heard: the page's sound as the speakers got it, and the words in it."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soxr
from pocketsphinx import Decoder

TAP = Path(__file__).with_name("tap.js")
AUDIBLE = 1e-4  # 80 dB below full scale


class Recording(NamedTuple):
    """Samples from −1 to 1, from time `start_s` of the audio clock on."""

    samples: np.ndarray[Any, np.dtype[np.float32]]
    rate: int
    start_s: float

    def between(self, start_s: float, end_s: float = float("inf")) -> Recording:
        """The part between two times of the audio clock."""
        first = max(0, round((start_s - self.start_s) * self.rate))
        last = len(self.samples) if end_s == float("inf") else max(first, round((end_s - self.start_s) * self.rate))
        return Recording(self.samples[first:last], self.rate, self.start_s + first / self.rate)

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    def audible_s(self) -> list[float]:
        """The times of the audio clock of the first and the last audible sample; empty if there is none."""
        loud = np.flatnonzero(np.abs(self.samples) > AUDIBLE)
        return [self.start_s + float(loud[i]) / self.rate for i in (0, -1)] if len(loud) else []

    def words(self) -> list[str]:
        """What a speech recogniser for American English understands."""
        heard = soxr.resample(self.samples, self.rate, 16000)
        decoder = Decoder(samprate=16000, loglevel="FATAL")
        decoder.start_utt()
        decoder.process_raw((heard * 32767).astype("<i2").tobytes(), full_utt=True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        return words_of(hypothesis.hypstr) if hypothesis else []


def words_of(text: str) -> list[str]:
    """The words of a text, lower case, without punctuation."""
    return re.findall(r"[a-z']+", text.lower())


def shared_in_order(said: list[str], heard: list[str]) -> float:
    """Which share of the words said was heard, in the order they were said (longest common subsequence)."""
    best = [0] * (len(heard) + 1)
    for word in said:
        before = 0
        for i, other in enumerate(heard, 1):
            before, best[i] = best[i], max(best[i], best[i - 1], before + (word == other))
    return best[-1] / len(said)


def decode(read: dict[str, Any]) -> Recording:
    """What `window.sound.read()` of tap.js returned."""
    samples = np.frombuffer(base64.b64decode(read["samples"]), "<f4")
    return Recording(samples, int(read["rate"]), read["first"] / read["rate"] if read["rate"] else 0.0)
