"""hibari: the natural English voice of the package `hibari-tts`, run in a thread of its own.

    hibari = Hibari()
    await hibari.warm()
    async for samples, words in hibari.sound("Hello there.", 1.0): ...      # float32, 24 kHz, a sentence at a time

Used by `onetake.server.speech.local` only. The model is inside the package and nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from onetake.server.speech.engine import EngineError
from onetake.server.speech.hibari_timing import Listening, Word, phoneme_words, telling, word_spans
from onetake.server.speech.markup import unmarked
from onetake.server.speech.sound import EDGE, RATE, SILENCE, Samples

# -26 LUFS as it comes (nine texts of 0.9 to 7.4 s: -28.2 to -25.5, the lowest being single words).
GAIN = 2.0

# For one call of the model, which takes 300 KB a phoneme. hibari itself splits at clause marks only.
PHONEMES = 400

# Silence before a sentence, besides the 50 ms around each: it makes half a second of it, whatever comes.
SENTENCE_S = 0.3
PARAGRAPH_S = 0.6
CLAUSE_S = 0.1

Sentence = tuple[Samples, list[Word]]


class Hibari:
    """The voice "heart". One worker thread says the sentences of all takes in turn, so that none starves."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hibari")

    async def warm(self) -> None:
        """Load the model and say a word to nobody: 0.7 s that the first take then need not wait."""
        async for _ in self.sound("Ready.", 1.0):
            pass

    async def sound(self, text: str, speed: float) -> AsyncGenerator[Sentence, None]:
        """The sound of `text`, one array per sentence. Closed early, it only ends the sentence it is at."""
        sentences = self._sentences(text, speed)
        loop = asyncio.get_running_loop()
        try:
            while (sentence := await loop.run_in_executor(self._worker, next, sentences, None)) is not None:
                yield sentence
        except (RuntimeError, ValueError, OSError, ImportError) as error:
            raise EngineError("engine_failed", f"hibari could not say this: {error}") from error

    def _sentences(self, text: str, speed: float) -> Iterator[Sentence]:
        """Runs in the worker thread, a step at a time; nothing is prepared beyond the sentence it is at."""
        model = self._model
        composed = unicodedata.normalize("NFC", text)
        plain, at = unmarked(composed)
        found, begun = 0, False
        for sentence in model.split_sentences(plain):
            start = plain.index(sentence, found)
            pause_s = PARAGRAPH_S if "\n" in plain[found:start] else SENTENCE_S
            found = start + len(sentence)
            parts = [
                part
                for phonemes in model.phonemize(sentence)
                if any(map(str.isalpha, phonemes))  # bare punctuation would sound as a breath
                for part in _within(phonemes, PHONEMES)
            ]
            spans = word_spans(model, sentence, parts) if composed == text else None
            for part in parts:
                cut, samples = _between_silences(model.from_phonemes(part, speed, seed=0))
                pause = round(pause_s * RATE) if begun else 0
                times = phoneme_words(model, part, model.sess.seconds_s)
                lasts_s = (pause + len(samples)) / RATE
                words = _words(spans, times, (pause - cut) / RATE, lasts_s) if spans else []
                placed = [
                    replace(word, start=at[start + word.start], end=at[start + word.end - 1] + 1) for word in words
                ]
                yield np.concatenate((np.zeros(pause, np.float32), samples)), placed
                pause_s, begun = CLAUSE_S, True

    @cached_property
    def _model(self) -> Any:
        from hibari import Hibari as Model
        from hibari.voices import voice_path

        model = Model(voice="heart", model=telling(Path(voice_path("heart")).read_bytes()), threads=1)
        model.sess = Listening(model.sess)
        return model

    async def aclose(self) -> None:
        """End the worker thread after the sentence it is at."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _between_silences(samples: Samples) -> tuple[int, Samples]:
    """The samples without the silence around them, which is half a second, and how many were cut at the start."""
    loud = np.flatnonzero(np.abs(samples * GAIN) > SILENCE)
    if not len(loud):
        return 0, samples[:0]
    start = max(0, int(loud[0]) - EDGE)
    return start, samples[start : int(loud[-1]) + 1 + EDGE]


def _words(
    spans: Iterator[tuple[int, int, int]], times: Sequence[tuple[float, float]], later_s: float, lasts_s: float
) -> list[Word]:
    """The next words of `spans`, as many as there are `times`, which are `later_s` early."""
    words = []
    left = list(times)
    while left and (span := next(spans, None)):
        start, end, count = span
        if count:
            said, left = left[:count], left[count:]
            start_s, end_s = (min(max(0.0, each + later_s), lasts_s) for each in (said[0][0], said[-1][1]))
            words.append(Word(start, end, start_s, end_s))
    return words


def _within(phonemes: str, size: int) -> Iterator[str]:
    """`phonemes` in parts of at most `size`, cut between words where it has any."""
    while len(phonemes) > size:
        cut = phonemes.rfind(" ", 1, size + 1)
        cut = cut if cut > 0 else size
        yield phonemes[:cut]
        phonemes = phonemes[cut:].lstrip()
    yield phonemes
