"""What the page shows of one reply: its stretches as they are written, its cards, its tools, its troubles.

Text becomes text nodes, never markup; cards go through `web/card.mjs`, which sanitises them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onetake.browser.ffi import web, window
from onetake.browser.scope import Scope
from onetake.shown import shown


@dataclass(slots=True, eq=False)
class _Stretch:
    """Text between two unit ends, from code point `start` of the reply."""

    start: int
    element_js: Any
    raw: str = ""
    drawn: int = 0  # code points of `raw` that the element shows


class ReplyView:
    """The article of one reply in the log. Drawn at most once per frame, however fast the text comes."""

    def __init__(self, scope: Scope, log_js: Any) -> None:
        self._document_js = window().document
        self._article_js = self._element("article", "reply")
        log_js.append(self._article_js)
        self._log_js = log_js
        self._stretches: list[_Stretch] = []
        self._open: _Stretch | None = None
        self._length = 0
        self._frame_js = scope.proxy(lambda _time: self._draw())
        self._frame_due = False
        scope.own(self._draw, "view")

    def text(self, text: str) -> None:
        """More text of the reply."""
        if self._open is None:
            self._open = _Stretch(self._length, self._element("div", "stretch"))
            self._article_js.append(self._open.element_js)
            self._stretches.append(self._open)
        self._open.raw += text
        self._length += len(text)
        if not self._frame_due:
            self._frame_due = True
            window().requestAnimationFrame(self._frame_js)

    def close(self) -> None:
        """The stretch that is being written is settled."""
        self._draw()
        if self._open is not None:
            self._draw_pieces(self._open)
        self._open = None

    def tool(self, name: str) -> None:
        """A tool was called here."""
        self._draw()
        tool_js = self._element("p", "tool")
        tool_js.textContent = name
        self._article_js.append(tool_js)

    def trouble(self, message: str) -> None:
        """Something went wrong with the reply."""
        self._draw()
        trouble_js = self._element("p", "trouble")
        trouble_js.textContent = message
        self._article_js.append(trouble_js)
        self._follow()

    def mark(self, start: int, state: str, trouble: str | None = None) -> None:
        """The unit that begins at code point `start` is in `state`; say what went wrong with it, if anything."""
        for stretch in self._stretches:
            if stretch.start == start:
                stretch.element_js.dataset.state = state
                if trouble is not None and state == "failed":
                    trouble_js = self._element("p", "trouble")
                    trouble_js.textContent = f"Not spoken: {trouble}"
                    stretch.element_js.after(trouble_js)

    def clear(self) -> None:
        """The reply is written anew from its start."""
        self._article_js.replaceChildren()
        self._stretches.clear()
        self._open = None
        self._length = 0

    def _draw(self) -> None:
        self._frame_due = False
        stretch = self._open
        if stretch is None or stretch.drawn == len(stretch.raw):
            return
        if any(mark in stretch.raw for mark in "[`"):
            self._draw_pieces(stretch)
        else:  # plain so far: only what is new is touched
            if not stretch.drawn:
                stretch.drawn = len(stretch.raw) - len(stretch.raw.lstrip())
            stretch.element_js.append(stretch.raw[stretch.drawn :])
        stretch.drawn = len(stretch.raw)
        self._follow()

    def _draw_pieces(self, stretch: _Stretch) -> None:
        pieces_js = [self._piece(piece.kind, piece.text) for piece in shown(stretch.raw)]
        stretch.element_js.replaceChildren(*pieces_js)

    def _piece(self, kind: str, text: str) -> Any:
        if kind == "text":
            return self._document_js.createTextNode(text)
        piece_js = self._element("div", "card") if kind == "card" else self._element("em", "direction")
        if kind == "card":
            piece_js.append(web().cardFragment(text))
        else:
            piece_js.textContent = text
        return piece_js

    def _element(self, tag: str, name: str) -> Any:
        element_js = self._document_js.createElement(tag)
        element_js.className = name
        return element_js

    def _follow(self) -> None:
        """Keep the end in view, unless the reader has scrolled up to read."""
        box_js = self._log_js.parentElement
        if box_js.scrollHeight - box_js.scrollTop - box_js.clientHeight < 160:
            box_js.scrollTop = box_js.scrollHeight
