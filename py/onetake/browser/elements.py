"""The few ways in which the page's Python touches the document."""

from __future__ import annotations

from functools import cache
from typing import Any

from onetake.browser.ffi import window


@cache
def by_id(id: str) -> Any:
    """The element of index.html with that id."""
    return window().document.getElementById(id)


def element(tag: str, name: str = "", *content: Any) -> Any:
    """A new element of class `name` that holds `content`: elements, and strings as text, never as markup."""
    element_js = window().document.createElement(tag)
    if name:
        element_js.className = name
    if content:
        element_js.append(*content)
    return element_js
