"""The voice `local`: real speech from packages alone, no key and no network.

    local = Local(hibari=Hibari(), espeak=Espeak())
    async for piece in local.synthesise("Hello there.", "local", 1.0): ...      # 24 kHz mono, as it is made

Two engines stand behind it, one for a whole take: hibari (natural, English) where the text is in Latin
script, which also tells when it says each word, and espeak-ng (plain, every script) where any of it is not;
see `script.foreign_script`. Made by `open_engines`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from onetake.server.speech import espeak_voice, hibari_voice
from onetake.server.speech.engine import Alignment, Audio, EngineError, Limit, Take, Voice
from onetake.server.speech.espeak_voice import Espeak
from onetake.server.speech.hibari_timing import Word
from onetake.server.speech.hibari_voice import Hibari, Sentence
from onetake.server.speech.script import foreign_script
from onetake.server.speech.sound import RATE, Samples, Shape

# Script -> (BCP 47 tag, espeak-ng's voice): of the languages espeak-ng has in a script, the most spoken one.
LANGUAGES = {
    "LATIN": ("en", "en-us"),
    "HANGUL": ("ko", "ko"),
    "HIRAGANA": ("ja", "ja"),
    "KATAKANA": ("ja", "ja"),
    "CJK": ("zh", "cmn"),
    "CYRILLIC": ("ru", "ru"),
    "GREEK": ("el", "el"),
    "ARABIC": ("ar", "ar"),
    "HEBREW": ("he", "he"),
    "DEVANAGARI": ("hi", "hi"),
    "BENGALI": ("bn", "bn"),
    "GURMUKHI": ("pa", "pa"),
    "GUJARATI": ("gu", "gu"),
    "ORIYA": ("or", "or"),
    "TAMIL": ("ta", "ta"),
    "TELUGU": ("te", "te"),
    "KANNADA": ("kn", "kn"),
    "MALAYALAM": ("ml", "ml"),
    "SINHALA": ("si", "si"),
    "THAI": ("th", "th"),
    "MYANMAR": ("my", "my"),
    "GEORGIAN": ("ka", "ka"),
    "ARMENIAN": ("hy", "hy"),
    "ETHIOPIC": ("am", "am"),
}

# Twenty minutes of speech. The engines know no limit; this one keeps a mistake from occupying the machine.
LIMIT = Limit(20_000, "characters")
CONCURRENCY = 4


class Local:
    """One voice, `local`. One engine may be missing; espeak-ng alone reads Latin script as English."""

    def __init__(self, hibari: Hibari | None, espeak: Espeak | None) -> None:
        self._hibari = hibari
        self._espeak = espeak
        tags = [tag for tag, _ in LANGUAGES.values()] if espeak else ["en"]
        name = " and ".join(name for name, part in (("hibari", hibari), ("espeak-ng", espeak)) if part)
        self.voices = (
            Voice(
                id="local",
                name=f"Local ({name})",
                engine="local",
                languages=tuple(dict.fromkeys(tags)),
                sample_rate=RATE,
                audio_tags=False,
                timing="word" if hibari else "none",
                limit=LIMIT,
                concurrency=CONCURRENCY,
            ),
        )

    async def warm(self) -> None:
        """Load hibari, which takes a second; espeak-ng has nothing to load."""
        if self._hibari:
            with suppress(EngineError):  # the first take will tell
                await self._hibari.warm()

    async def aclose(self) -> None:
        """End the worker thread of hibari."""
        if self._hibari:
            await self._hibari.aclose()

    async def synthesise(self, text: str, voice: str, speed: float) -> Take:
        """See `Engine.synthesise`."""
        sound, gain = self._sound(text, speed)
        shape = Shape(gain)
        told, at_s = 0, 0.0
        async with aclosing(sound):
            async for samples, words in sound:
                if words:
                    yield _alignment(text, told, words, at_s)
                    told = words[-1].end
                at_s += len(samples) / RATE
                if ready := shape.feed(samples):
                    yield Audio(ready, RATE)
        if ready := shape.finish():
            yield Audio(ready, RATE)

    def _sound(self, text: str, speed: float) -> tuple[AsyncGenerator[Sentence, None], float]:
        """The engine's own sound of the take, and the gain it needs."""
        script = foreign_script(text)
        if self._hibari and script is None:
            return self._hibari.sound(text, speed), hibari_voice.GAIN
        if self._espeak:
            _, voice = LANGUAGES.get(script or "LATIN", LANGUAGES["LATIN"])
            return _untimed(self._espeak.sound(text, voice, speed)), espeak_voice.GAIN
        raise EngineError(
            "engine_failed",
            f"hibari cannot say {script} letters; install espeak-ng for them: pip install 'onetake[local]'",
        )


async def _untimed(sound: AsyncGenerator[Samples, None]) -> AsyncGenerator[Sentence, None]:
    async with aclosing(sound):
        async for samples in sound:
            yield samples, []


def _alignment(text: str, told: int, words: Sequence[Word], at_s: float) -> Alignment:
    """The times of the characters from `told` to the last of `words`, whose own times count from `at_s`."""
    starts: list[float] = []
    ends: list[float] = []
    end = told
    for word in words:
        between, size = word.start - end, word.end - word.start
        steps = [at_s + word.start_s + (word.end_s - word.start_s) * i / size for i in range(size + 1)]
        starts += [*[steps[0]] * between, *steps[:-1]]
        ends += [*[steps[0]] * between, *steps[1:]]
        end = word.end
    return Alignment(list(text[told:end]), starts, ends)
