"""Masks: nothing of a text can be read, and its shape stays."""

from __future__ import annotations

import ast
import re
import string
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.masks import CODES, mask, mask_code

ROOT = Path(__file__).resolve().parents[2]

#: What makes a failure of its first text where events come from.
FAILURES = {"Failed", "SpeechError", "SynthesisFailed", "_fail", "fail"}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Hi 안녕, 42 Привет!", "Aa 가가, 00 яяяяяя!"),
        ("[softly] No.\n`x` | $5 €5", "[aaaaaa] Aa.\n`a` | $0 €0"),
        ("שלום\u200f مرحبا", "אאאא\u200f ااااا"),  # the mark of direction stays
        ("東京へ、カラオケ", "中中あ、アアアア"),
        ("Ünï Ελλάς ไทย हिन्", "äaä ααααα กกก अ\u0301अ\u0301"),
        ("٤٢ ⅻ ½", "00 0 0"),
        ("👩\u200d🚀 🇰🇷 ☀ ∞", "🙂\u200d🙂 🙂🙂 ☆ ☆"),
        ("e\u0301\ufe0f", "a\u0301\u0301"),
        ("\U000e0068\U000e0069", "\U000e0020\U000e0020"),  # "hi" in invisible letters
        ("\ue000\ud800", "☆☆"),  # private use, and half of a pair
    ],
)
def test_a_mask_keeps_the_shape_of_a_text(text: str, masked: str) -> None:
    assert mask(text) == masked


@given(st.text())
def test_a_mask_is_as_long_as_its_text(text: str) -> None:
    assert len(mask(text)) == len(text)


@given(st.text())
def test_what_is_masked_has_nothing_left_to_mask(text: str) -> None:
    assert mask(mask(text)) == mask(text)


def test_few_characters_can_stand_in_a_mask() -> None:
    """So few that nothing can be told by them: for all that are letters, numbers, marks or pictures."""
    left: dict[str, set[str]] = {}
    for character in map(chr, [*range(0x20000), *range(0xE0000, 0xE0200)]):
        left.setdefault(unicodedata.category(character)[0], set()).add(mask(character))
    assert left["N"] == {"0"}
    assert left["M"] == {"\u0301"}
    scripts = {unicodedata.name(letter).split(" ")[0] for letter in left["L"]}
    assert len(left["L"]) <= len(scripts) + 2  # Latin has three: two of ASCII, and one for the rest
    pictures = {sign for sign in left["S"] if not sign.isascii() and unicodedata.category(sign) != "Sc"}
    assert pictures == {"☆", "🙂"}


@pytest.mark.parametrize("code", ["text_too_long", "connection_lost", "http_503"])
def test_a_code_of_ours_stays(code: str) -> None:
    assert mask_code(code) == code


@pytest.mark.parametrize("code", ["my_secret", "http_nobody", "Text_too_long", "", "engine_failed: my secret"])
def test_any_other_code_is_masked(code: str) -> None:
    assert mask_code(code) == mask(code)


def codes_of(tree: ast.AST) -> Iterator[str]:
    """The codes of all failures that a module makes in its own words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            texts = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if name in FAILURES and texts and set(texts[0]) <= {*string.ascii_lowercase, "_"}:
                yield texts[0]


@pytest.mark.parametrize("directory", ["browser", "streams"])
def test_every_code_that_the_page_makes_is_known_to_be_ours(directory: str) -> None:
    sources = (ROOT / "py" / "onetake" / directory).glob("*.py")
    found = {code for file in sources for code in codes_of(ast.parse(file.read_text(encoding="utf-8")))}
    assert found
    assert found - CODES == set()


def test_every_code_that_the_page_has_words_for_is_known_to_be_ours() -> None:
    table = (ROOT / "web" / "trouble.mjs").read_text(encoding="utf-8")
    found = set(re.findall(r'"(?:reply|speech)\.(\w+)"', table)) - {"http", "text_over_limit"}  # made by the page
    assert len(found) > 30
    assert found - CODES == set()
