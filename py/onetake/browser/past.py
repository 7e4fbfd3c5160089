"""What the page remembers of its conversation over a reload: who said what is kept by the server, this is where."""

from __future__ import annotations

import json
from typing import Any

from onetake.browser.elements import by_id, element
from onetake.browser.ffi import web

KEPT = 50
"""Replies; those before are left out of the page when it is loaded again."""


class Past:
    """The messages of this tab and the ids of their replies, in the browser's session storage."""

    def __init__(self) -> None:
        kept = json.loads(str(web().kept.read("past", "{}")))
        #: The conversation's id, once the server has told it.
        self.conversation: str | None = kept.get("conversation")
        #: Oldest first, each with `text`, what was asked, `spoken`, and `id`, the reply's.
        self.replies: list[dict[str, Any]] = kept.get("replies", [])
        self._asked: dict[str, Any] = {}

    def asked(self, text: str, spoken: bool) -> None:
        """The listener has sent a message, for a reply to be spoken or to be read."""
        self._asked = {"text": text, "spoken": spoken}

    def answered(self, reply: str, conversation: str) -> None:
        """The server has begun a reply to it. Told again for one that is known, nothing happens."""
        if any(known["id"] == reply for known in self.replies):
            return
        self.conversation = conversation
        self.replies.append({"id": reply, **self._asked})
        del self.replies[:-KEPT]
        web().kept.write("past", json.dumps({"conversation": conversation, "replies": self.replies}))

    def message(self, reply: dict[str, Any]) -> Any:
        """The message of that reply as the log shows it."""
        by_id("hint").hidden = True
        return element("article", "message", reply["text"])
