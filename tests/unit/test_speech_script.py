"""Which script decides, and that one unit is said by one engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import numpy as np
import pytest

from onetake.server.speech.engine import EngineError
from onetake.server.speech.local import Local
from onetake.server.speech.markup import unmarked, without_marks
from onetake.server.speech.script import foreign_script

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello there.", None),
        ("café, naïve, Zürich", None),
        ("cafe\u0301", None),
        ("ｆｕｌｌ ｗｉｄｔｈ", None),
        ("42 %", None),
        ("👍", None),
        ("", None),
        ("A circle has 2π, or 5 µm.", None),
        ("안녕하세요", "HANGUL"),
        ("\u1112\u1161\u11ab", "HANGUL"),
        ("Meet me in 서울 tomorrow, as we said before, at nine o'clock.", "HANGUL"),
        ("네 OK", "HANGUL"),
        ("こんにちは", "HIRAGANA"),
        ("コンピュータ", "HIRAGANA"),
        ("漢字です", "HIRAGANA"),
        ("日本国憲法の前文", "HIRAGANA"),
        ("你好世界", "CJK"),
        ("Say 中.", "CJK"),
        ("Привет, мир", "CYRILLIC"),
        ("γειά σου", "GREEK"),
        ("مرحبا", "ARABIC"),
        ("שלום", "HEBREW"),
        ("नमस्ते", "DEVANAGARI"),
        ("สวัสดี", "THAI"),
        ("한국어 한국어 привет", "HANGUL"),
        ("Привет, это 한", "CYRILLIC"),
    ],
)
def test_a_text_is_foreign_by_its_words_and_not_by_its_symbols(text: str, script: str | None) -> None:
    assert foreign_script(text) == script


class Rehearsed:
    """Stands for both engines: notes who was asked to say what."""

    def __init__(self, name: str, asked: list[tuple[str, ...]]) -> None:
        self.name = name
        self.asked = asked

    async def sound(self, text: str, *how: str | float) -> AsyncGenerator[Any, None]:
        self.asked.append((self.name, text, *(each for each in how if isinstance(each, str))))
        samples = np.full(2400, 0.1, np.float32)
        yield (samples, []) if self.name == "hibari" else samples


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello there. How are you?", ("hibari",)),
        ("안녕 hello 세계", ("espeak", "ko")),
        ("漢字です", ("espeak", "ja")),
        ("你好", ("espeak", "cmn")),
        ("Привет", ("espeak", "ru")),
        ("ꯃꯅꯤꯄꯨꯔꯤ", ("espeak", "en-us")),
    ],
)
async def test_one_engine_says_the_whole_unit(text: str, said: tuple[str, ...]) -> None:
    asked: list[tuple[str, ...]] = []
    local = Local(Rehearsed("hibari", asked), Rehearsed("espeak", asked))
    async for _ in local.synthesise(text, "local", 1.0):
        pass
    engine, *voice = said
    assert asked == [(engine, text, *voice)]


async def test_espeak_alone_reads_latin_script_as_english() -> None:
    asked: list[tuple[str, ...]] = []
    async for _ in Local(None, Rehearsed("espeak", asked)).synthesise("Hello.", "local", 1.0):
        pass
    assert asked == [("espeak", "Hello.", "en-us")]


async def test_hibari_alone_refuses_what_it_would_leave_out() -> None:
    with pytest.raises(EngineError, match="HANGUL"):
        await anext(Local(Rehearsed("hibari", []), None).synthesise("안녕", "local", 1.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("**bold**, *it*, `code`, __x__, _y_, ~~no~~", "bold, it, code, x, y, no"),
        ("그는 **안녕**이라고 했다", "그는 안녕이라고 했다"),
        ("# Head\n- item\n* **item**\n> quote", "Head\nitem\nitem\nquote"),
        ("see [the docs](https://example.com/a_b) now", "see the docs now"),
        ("2*3 = 6, 2 * 3, snake_case, a - b", "2*3 = 6, 2 * 3, snake_case, a - b"),
        ("[1] as it is", "[1] as it is"),
    ],
)
def test_markdown_marks_are_not_named_aloud(text: str, said: str) -> None:
    assert without_marks(text) == said


def test_each_character_that_is_left_is_known_by_its_place() -> None:
    text = "# A **b** [c](https://example.com) and `d`,\n- ![e](f.png) 2*3"
    plain, at = unmarked(text)
    assert plain == "A b c and d,\ne 2*3"
    assert "".join(text[i] for i in at) == plain
    assert list(at) == sorted(at)
