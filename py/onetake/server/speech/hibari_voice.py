"""hibari: the natural English voice of the package `hibari-tts`, run in a thread of its own.

    hibari = Hibari()
    await hibari.warm()
    async for samples in hibari.sound("Hello there.", 1.0): ...     # float32, 24 kHz, a sentence at a time

Used by `onetake.server.speech.local` only. The model is inside the package and nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from onetake.server.speech.engine import EngineError
from onetake.server.speech.markup import without_marks
from onetake.server.speech.sound import Samples

# -26 LUFS as it comes (nine texts of 0.9 to 7.4 s: -28.2 to -25.5, the lowest being single words).
GAIN = 2.0

# For one call of the model, which takes 300 KB a phoneme. hibari itself splits at clause marks only.
PHONEMES = 400


class Hibari:
    """The voice "heart". One worker thread says the sentences of all takes in turn, so that none starves."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hibari")

    async def warm(self) -> None:
        """Load the model and say a word to nobody: 0.7 s that the first take then need not wait."""
        async for _ in self.sound("Ready.", 1.0):
            pass

    async def sound(self, text: str, speed: float) -> AsyncGenerator[Samples, None]:
        """The sound of `text`, one array per sentence. Closed early, it only ends the sentence it is at."""
        sentences = self._sentences(unicodedata.normalize("NFC", without_marks(text)), speed)
        loop = asyncio.get_running_loop()
        try:
            while (samples := await loop.run_in_executor(self._worker, next, sentences, None)) is not None:
                yield samples
        except (RuntimeError, ValueError, OSError, ImportError) as error:
            raise EngineError("engine_failed", f"hibari could not say this: {error}") from error

    def _sentences(self, text: str, speed: float) -> Iterator[Samples]:
        """Runs in the worker thread, a step at a time; nothing is prepared beyond the sentence it is at."""
        model = self._model
        for sentence in model.split_sentences(text):
            for phonemes in model.phonemize(sentence):
                if any(map(str.isalpha, phonemes)):  # bare punctuation would sound as a breath
                    for part in _within(phonemes, PHONEMES):
                        yield model.from_phonemes(part, speed, seed=0)

    @cached_property
    def _model(self) -> Any:
        from hibari import Hibari as Model

        return Model(voice="heart", threads=1)

    async def aclose(self) -> None:
        """End the worker thread after the sentence it is at."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _within(phonemes: str, size: int) -> Iterator[str]:
    """`phonemes` in parts of at most `size`, cut between words where it has any."""
    while len(phonemes) > size:
        cut = phonemes.rfind(" ", 1, size + 1)
        cut = cut if cut > 0 else size
        yield phonemes[:cut]
        phonemes = phonemes[cut:].lstrip()
    yield phonemes
