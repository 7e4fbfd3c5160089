"""What the page shows of one reply: its stretches as they are written, its cards, its tools, its troubles.

Text becomes text nodes, never markup; cards go through `web/card.mjs`, which sanitises them. What has been heard
is told by `web/ink.mjs` over the same nodes: nothing is drawn anew while the voice goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onetake.browser.elements import element
from onetake.browser.ffi import web, window
from onetake.browser.scope import Scope
from onetake.browser.words import label
from onetake.shown import Piece, shown

MARGIN_PX = 80
"""Above the beginning of a reply that is spoken: some of the message stays in view."""

NEAR_PX = 160
"""Who is so near to the end wants to see it."""


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
        #: In the log.
        self.article_js = element("article", "reply")
        log_js.append(self.article_js)
        self._log_js = log_js
        self._stretches: list[_Stretch] = []
        self._open: _Stretch | None = None
        self._length = 0
        #: By the id of the call: at which length of the reply, and the elements of the tool and of its outcome.
        self._tools: dict[str, tuple[int, Any, Any]] = {}
        self._trouble_js: Any = None
        self._ink_js: Any = None
        self._scope = scope
        self._frame_js = scope.proxy(lambda _time: self._draw())
        self._frame_due = False
        scope.own(self._draw, "view")

    @property
    def raw(self) -> str:
        """The reply as it was written."""
        return "".join(stretch.raw for stretch in self._stretches)

    @property
    def text(self) -> str:
        """The reply as it is shown."""
        return str(self.article_js.innerText)

    def add(self, text: str) -> None:
        """More text of the reply."""
        if self._open is None:
            self._open = _Stretch(self._length, element("div", "stretch"))
            self.article_js.append(self._open.element_js)
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

    def tool(self, call: str, name: str) -> None:
        """A tool was called here: the voice takes a breath."""
        self._draw()
        outcome_js = element("span", "outcome")
        label(outcome_js, "tool.running")
        tool_js = element("p", "tool", element("span", "name", name), " ", outcome_js)
        self.article_js.append(tool_js)
        self._tools[call] = (self._length, tool_js, outcome_js)

    def tool_ended(self, call: str, failed: bool) -> None:
        """That call has its result, or came to nothing."""
        if call in self._tools:
            _, tool_js, outcome_js = self._tools[call]
            tool_js.dataset.outcome = "failed" if failed else "done"
            label(outcome_js, "tool.failed" if failed else "tool.done")

    def trouble(self, message: str, again: Callable[[], object] | None = None) -> None:
        """Something went wrong with the reply; `again` is what a button offers to do about it."""
        self._draw()
        self.relieve()
        trouble_js = self._trouble_js = element("p", "trouble", message)
        if again is not None:
            again_js = element("button", "again")
            again_js.type = "button"
            label(again_js, "again")
            trouble_js.append(" ", again_js)
            self._scope.listen(again_js, "click", lambda _event: again())
        self.article_js.append(trouble_js)
        self.follow()

    def relieve(self) -> None:
        """What was last told to be wrong with the reply is over."""
        if self._trouble_js is not None:
            self._trouble_js.remove()
            self._trouble_js = None

    def mark(self, start: int, state: str, trouble: str | None = None) -> None:
        """The unit that begins at code point `start` is in `state`; say what went wrong with it, if anything."""
        for stretch in self._stretches:
            if stretch.start == start:
                stretch.element_js.dataset.state = state
                if trouble is not None:
                    stretch.element_js.after(element("p", "trouble", trouble))

    # -- what has been heard -------------------------------------------------------------------

    def expect_voice(self) -> None:
        """The reply is going to be spoken: what is not heard yet is lighter from now on."""
        if self._ink_js is not None:
            self._ink_js.clear()
        self._ink_js = web().Ink.new()
        for stretch in self._stretches:
            self._draw_pieces(stretch)

    def heard(self, at: int) -> None:
        """The reply has been heard up to code point `at`."""
        if self._ink_js is not None:
            self._ink_js.heard(at)
            self._ink_js.follow(self._log_js.parentElement)

    def reset(self, at: int) -> None:
        """The reply is written anew from code point `at`."""
        self._draw()
        self.relieve()
        if self._ink_js is not None:
            self._ink_js.forget(at)
        while self._stretches and self._stretches[-1].start >= at:
            self._stretches.pop().element_js.remove()
        for call, (place, tool_js, _) in list(self._tools.items()):
            if place > at or at == 0:
                tool_js.remove()
                del self._tools[call]
        if at == 0:  # also what was said about units that are no more
            self.article_js.replaceChildren()
        self._open = None
        self._length = at
        if self._stretches and (kept := self._stretches[-1]).start + len(kept.raw) > at:
            kept.raw = kept.raw[: at - kept.start]
            self._draw_pieces(kept)
            kept.drawn = len(kept.raw)
            self._open = kept

    # -- drawing -------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._frame_due = False
        stretch = self._open
        if stretch is None or stretch.drawn == len(stretch.raw):
            return
        follows = self._at_end()  # before it grows: much may come at once
        if any(mark in stretch.raw for mark in "[`"):
            self._draw_pieces(stretch)
        else:  # plain so far: only what is new is touched
            if not stretch.drawn:
                stretch.drawn = len(stretch.raw) - len(stretch.raw.lstrip())
            if more := stretch.raw[stretch.drawn :]:
                stretch.element_js.append(self._node(more, stretch.start + stretch.drawn))
        stretch.drawn = len(stretch.raw)
        if follows:
            self._scroll()

    def _draw_pieces(self, stretch: _Stretch) -> None:
        if self._ink_js is not None:
            self._ink_js.forget(stretch.start)
        stretch.element_js.replaceChildren(*[self._piece(piece, stretch.start) for piece in shown(stretch.raw)])

    def _piece(self, piece: Piece, start: int) -> Any:
        if piece.kind == "card":
            return element("div", "card", web().cardFragment(piece.text))
        node_js = self._node(piece.text, start + piece.start)
        return node_js if piece.kind == "text" else element("em", "direction", node_js)

    def _node(self, text: str, start: int) -> Any:
        """A text node that shows the reply from code point `start` on."""
        node_js = window().document.createTextNode(text)
        if self._ink_js is not None:
            self._ink_js.place(node_js, start)
        return node_js

    def follow(self) -> None:
        """Keep the end in view, unless the reader has scrolled up to read; but what is spoken stays where it begins."""
        if self._at_end():
            self._scroll()

    def _at_end(self) -> bool:
        box_js = self._log_js.parentElement
        return bool(box_js.scrollHeight - box_js.scrollTop - box_js.clientHeight < NEAR_PX)

    def _scroll(self) -> None:
        box_js = self._log_js.parentElement
        begins = self.article_js.offsetTop - box_js.offsetTop - MARGIN_PX
        box_js.scrollTop = box_js.scrollHeight if self._ink_js is None else min(begins, box_js.scrollHeight)
