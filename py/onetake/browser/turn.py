"""One message and its reply in the page: the stream it comes by, how it is shown, and how it was spoken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onetake.boundaries import Paragraphs
from onetake.browser.elements import element
from onetake.browser.inspection import Floor
from onetake.browser.replies import ReplyStream
from onetake.browser.scope import Scope
from onetake.browser.timeline import Timeline
from onetake.browser.view import ReplyView
from onetake.browser.words import label

if TYPE_CHECKING:
    from onetake.browser.page import Page


class Turn:
    """What `onetake.browser.page` holds for each reply.

    `spoken` is what the server is told: the reply is written to be listened to. A written one is read aloud by
    paragraphs, or when the listener asks for it.
    """

    def __init__(self, page: Page, scope: Scope, log_js: Any, base: str, *, spoken: bool, by_paragraphs: bool) -> None:
        self.scope = scope
        self.spoken = spoken
        self.by_paragraphs = by_paragraphs
        self.paragraphs = Paragraphs()
        self.floor = Floor()
        self.view = ReplyView(scope, log_js)
        self.timeline = Timeline(log_js)
        self.stream = ReplyStream(
            scope, base, lambda event: page.on_reply(self, event), lambda link: page.on_link(self, link)
        )
        self.listen_js = element("button", "listen")
        self.listen_js.type = "button"
        self.listen_js.hidden = True
        label(self.listen_js, "reply.listen")
        log_js.append(self.listen_js)

    def restart_paragraphs(self) -> None:
        """The reply was taken back to what the view shows."""
        self.paragraphs = Paragraphs()
        self.paragraphs.feed(self.view.raw)

    @property
    def read_as_written(self) -> bool:
        """Whether the voice speaks it while it is being written."""
        return self.spoken or self.by_paragraphs
