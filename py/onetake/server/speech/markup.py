"""Markdown marks that the local engines would name aloud ("asterisk", "hashtag") instead of obeying.

    without_marks("## See **the** [docs](https://example.com)")   # "See the docs"

Engines that take markdown as it is have no need of this. Pure: standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Linear on any input: every repetition is bounded or cannot match what ends it.
_LINK = re.compile(r"!?\[([^\[\]\n]{1,1000})\]\([^()\n]{1,2000}\)")
_LINE_START = re.compile(r"^[ \t]{0,3}(?:#{1,6}|>|[*+-])[ \t]+", re.MULTILINE)
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![A-Za-z0-9])"  # not in 2*3
    r"|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)"  # not in snake_case
    r"|`{1,3}|~~"
)


def without_marks(text: str) -> str:
    """`text` with links as their words and without heading, quote, bullet, emphasis and code marks."""
    return unmarked(text)[0]


def unmarked(text: str) -> tuple[str, Sequence[int]]:
    """`without_marks`, and where in `text` each of its characters is."""
    at: Sequence[int] = range(len(text))
    for marks in (_LINK, _LINE_START, _EMPHASIS):
        text, at = _without(marks, text, at)
    return text, at


def _without(marks: re.Pattern[str], text: str, at: Sequence[int]) -> tuple[str, Sequence[int]]:
    """`text` with each match replaced by its group, if it has one."""
    spans, last = [], 0
    for match in marks.finditer(text):
        spans += [(last, match.start()), match.span(1) if marks.groups else (0, 0)]
        last = match.end()
    if not spans:
        return text, at
    spans.append((last, len(text)))
    return "".join(text[start:end] for start, end in spans), [i for start, end in spans for i in at[start:end]]
