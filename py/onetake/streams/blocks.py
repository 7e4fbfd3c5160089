"""Blocks written into the text of a reply that are no part of what it says.

    thoughts = InlineBlocks(["<think>"], "</think>")
    thoughts.feed("Hm. <thi")           # [("Hm. ", None)]
    thoughts.feed("nk>x</think>Yes")    # [("", "<think>"), ("Yes", None)]

Used by the adapters of `onetake.streams`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


class InlineBlocks:
    """Takes blocks out of text that comes in pieces, wherever the pieces are split. Linear in the text.

    A block begins with one of `openings` and ends with `closing`; with `line_end` a line feed right after it
    goes with it. A block left open runs to the end. With `orphans`, a closing outside of any block is a mark, too.
    A mark right after a backtick is text: that is how prose mentions one.
    """

    def __init__(
        self, openings: Sequence[str], closing: str, *, line_end: bool = False, orphans: bool = False
    ) -> None:
        self._marks = [*openings, closing] if orphans else openings
        self._mark = re.compile(f"(?<!`)(?:{'|'.join(map(re.escape, self._marks))})")
        self._closing = closing
        self._takes_line_end = line_end
        self._inside = False
        self._after = False  # right after a block
        self._before = ""  # the character before what is held, for the backtick
        self._held = ""  # may be the beginning of a mark

    def feed(self, piece: str) -> list[tuple[str, str | None]]:
        """What is text of this piece, each stretch with the mark that follows it, `None` after the last."""
        text = self._before + self._held + piece
        at = len(self._before)
        stretches: list[tuple[str, str | None]] = []
        while True:
            if self._inside:
                end = text.find(self._closing, at)
                if end < 0:
                    self._hold(text, at, [self._closing])
                    return stretches
                at = end + len(self._closing)
                self._inside, self._after = False, self._takes_line_end
            if self._after and at < len(text):
                at += text[at] == "\n"
                self._after = False
            mark = self._mark.search(text, at)
            if mark is None:
                stretches.append((text[at : self._hold(text, at, self._marks)], None))
                return stretches
            stretches.append((text[at : mark.start()], mark[0]))
            at = mark.end()
            self._inside = mark[0] != self._closing

    def flush(self) -> str:
        """What was held, as text, since no more comes with it. A block that is open ends here."""
        held = "" if self._inside else self._held
        self._inside, self._after, self._before, self._held = False, False, held[-1:] or self._before, ""
        return held

    def _hold(self, text: str, start: int, marks: Sequence[str]) -> int:
        """Hold back the longest end of text[start:] that may begin a mark; where it begins."""
        lengths = range(min(max(map(len, marks)) - 1, len(text) - start), 0, -1)
        held = next((n for n in lengths if any(mark.startswith(text[-n:]) for mark in marks)), 0)
        cut = len(text) - held
        self._held = text[cut:]
        self._before = text[cut - 1 : cut] if cut else ""
        return cut
