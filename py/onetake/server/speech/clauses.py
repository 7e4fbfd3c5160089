"""Text in clauses that espeak-ng says in full: it leaves out, without a sign, what exceeds its buffers.

    in_clauses("끝없는 " * 100)     # the same words, with a comma now and then

espeak-ng 1.52 says a text clause by clause. Of a clause it loses what is beyond 800 bytes of decomposed
letters (in Korean 90 syllables without punctuation), of a word what is beyond some 65 letters (in Thai and
Japanese, which have no spaces, half a line). Full-width letters it spells by their Unicode names.

Pure: standard library only.
"""

from __future__ import annotations

import re
import unicodedata

# With a margin, since letters of another script than the voice's are spelled, which takes more room.
CLAUSE = 200  # letters and spaces, decomposed
WORD = 40  # letters

_WIDE_ENDS = "。！？、，；："  # end a clause wherever they stand
_ENDS = (".", "!", "?", ",", ";", ":")  # end a clause before a space
_TOKEN = re.compile(rf"\s+|[{_WIDE_ENDS}]+|[^\s{_WIDE_ENDS}]{{1,{WORD}}}")


def in_clauses(text: str) -> str:
    """`text` with a comma where a clause would be too long, a space where a word would, and plain letters."""
    parts = [""]
    size = 0
    for token in _TOKEN.findall(_plain_letters(text)):
        if token.isspace() or token[0] in _WIDE_ENDS:
            if not token.isspace() or parts[-1].endswith(_ENDS):
                size = 0
        else:
            grown = len(unicodedata.normalize("NFD", token)) + 1
            if size + grown > CLAUSE:
                parts.append(", ")
                size = 0
            elif len(parts[-1]) == WORD:
                parts.append(" ")
            size += grown
        parts.append(token)
    return "".join(parts)


def _plain_letters(text: str) -> str:
    """`text` composed, its full-width letters and digits and other such forms replaced by the usual ones."""
    return "".join(
        unicodedata.normalize("NFKC", each) if each.isalpha() or each.isdecimal() else each
        for each in unicodedata.normalize("NFC", text)
    )
