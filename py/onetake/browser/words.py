"""The page's words (`web/words.mjs`) from Python, in the language the listener reads.

    say("unit.failed", why="the engine broke")      # "Not spoken: the engine broke"
    label(status_js, "state.speaking")              # follows the language when it is switched
"""

from __future__ import annotations

from typing import Any

from onetake.browser.ffi import js_object, web


def say(key: str, **fields: str) -> str:
    """The text of that key now; "" if there is none."""
    return str(web().words(key, js_object(fields)))


def label(element_js: Any, key: str) -> None:
    """The element's text becomes the one of that key."""
    web().label(element_js, key)


def name(element_js: Any, key: str) -> None:
    """The element's accessible name and its tooltip become the text of that key."""
    web().name(element_js, key)
