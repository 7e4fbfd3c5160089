"""What went wrong and what to do about it, in the words of the page (`web/words.mjs`).

    of_reply("model_busy", "The model's provider is busy. …")
    of_unit("text_too_long", "The text has …", text, limit={"value": 300, "unit": "characters"})

A code that has no words there is told as the server tells it.
"""

from __future__ import annotations

from typing import Any

from onetake.browser.words import say


def of_reply(code: str, message: str) -> str:
    """Why a reply could not be written, or not to its end."""
    return _told("reply", code, message)


def of_unit(code: str, message: str, text: str, limit: dict[str, Any] | None) -> str:
    """Why a unit was not spoken. `text` is what the engine was asked to say, `limit` that of its voice (design 6)."""
    fields = {}
    if code == "text_too_long" and limit is not None:
        length = len(text) if limit["unit"] == "characters" else len(text.encode())
        if length > limit["value"]:  # otherwise it was the service that found it too long
            code = "text_over_limit"
            fields = {"length": str(length), "limit": str(limit["value"]), "unit": say(f"limit.{limit['unit']}")}
    return say("unit.failed", why=_told("speech", code, message, **fields))


def _told(what: str, code: str, message: str, **fields: str) -> str:
    known = "http" if code.startswith("http_") else code
    return say(f"{what}.{known}", message=message.rstrip("."), **fields) or message
