"""Paragraphs as unit ends, for written replies that are read aloud by choice.

    paragraphs("One.\n\nTwo.\n")          # [6]
    rule = Paragraphs()
    rule.feed("One.\n")                   # []
    rule.feed("\nTwo.\n")                 # [6]

A spoken turn never ends a unit here: use it through `Cutter(boundaries="paragraphs", spoken=False)`, which
holds that. Pure: import it anywhere.
"""

from __future__ import annotations

from onetake.markup import LINE_BREAK, Fence


def paragraphs(content: str) -> list[int]:
    """The unit ends of a written reply: behind the first blank line after each paragraph.

    A blank line has spaces and tabs at most. Blank lines inside fenced blocks end nothing. A blank line
    counts once its line break is complete, so that ends found in a part of a reply are those of the whole (a
    carriage return at the very end may yet be half of one).
    """
    return Paragraphs().feed(content)


class Paragraphs:
    """`paragraphs` held incrementally: any split of a reply gives the same ends, in linear time."""

    def __init__(self) -> None:
        self._fence = Fence()
        self._line: list[str] = []  # the line not yet ended, in parts
        self._held = ""  # a carriage return that may be half of a line break
        self._fed = 0
        self._text_since_end = False

    def feed(self, text: str) -> list[int]:
        """Append text; the unit ends it completes, as code points of the reply."""
        text, base = self._held + text, self._fed - len(self._held)
        self._fed = base + len(text)
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        ends: list[int] = []
        start = 0
        for line_break in LINE_BREAK.finditer(text):
            line = "".join((*self._line, text[start : line_break.start()]))
            self._line.clear()
            start = line_break.end()
            if self._ends_paragraph(line):
                ends.append(base + start)
        self._line.append(text[start:])
        return ends

    def _ends_paragraph(self, line: str) -> bool:
        self._fence.read(line)
        if line.strip(" \t"):
            self._text_since_end = True
            return False
        ends = self._text_since_end and not self._fence.open
        if ends:
            self._text_since_end = False
        return ends
