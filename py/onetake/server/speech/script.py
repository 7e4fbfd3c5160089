"""Which script a text is written in, and so which local engine can say all of it; whether it can be said at all.

    foreign_script("Hello there.")       # None: Latin throughout
    foreign_script("안녕 hello")          # "HANGUL"
    foreign_script("A circle has 2π.")   # None: a lone Greek letter is a symbol

Pure: standard library only. May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import groupby

# In these one letter is a word or a syllable; elsewhere a letter standing alone is a symbol (π, Ω, Ж).
_WORD_IN_A_LETTER = frozenset({"HANGUL", "HIRAGANA", "KATAKANA", "CJK"})


def foreign_script(text: str) -> str | None:
    """The script other than Latin that has the most words in `text`, counted by their letters, or None.

    Scripts go by the first word of a letter's Unicode name ("HANGUL", "CYRILLIC"; Han is "CJK").
    Compatibility forms count as what they stand for (full-width Latin is Latin). One foreign word decides: an
    engine for Latin script would leave it out or spell it, while engines for other scripts read Latin words
    too. Japanese wins over Han, which it contains: a text with kana is Japanese, however many of its letters
    are Han.
    """
    letters: Counter[str] = Counter()
    for script, run in groupby(unicodedata.normalize("NFKC", text), _script):
        length = len(list(run))
        if script is not None and (length > 1 or script in _WORD_IN_A_LETTER):
            letters[script] += length
    del letters["LATIN"]
    if letters["HIRAGANA"] + letters["KATAKANA"]:
        letters["HIRAGANA"] += letters.pop("KATAKANA", 0) + letters.pop("CJK", 0)
    return max(letters, key=letters.__getitem__) if letters else None


def sayable(text: str) -> bool:
    """Whether there is a letter or a digit in `text`; smileys and punctuation alone are not said by any engine."""
    return any(map(str.isalnum, text))


def _script(character: str) -> str | None:
    """The script of a letter, None for anything else."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else None
