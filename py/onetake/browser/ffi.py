"""The seam to the browser: the few conversions and globals the package needs, each in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def window() -> Any:
    """The page's global object."""
    import js

    return js


def web() -> Any:
    """The page's own JS module (`web/*.mjs`), registered by `boot.mjs` as `onetake_web`."""
    import onetake_web  # type: ignore[import-not-found]

    return onetake_web


def js_object(fields: Mapping[str, Any]) -> Any:
    """A plain JS object of `fields`, nested mappings included (not a Map, not a proxy)."""
    from pyodide.ffi import to_js

    return to_js(fields, dict_converter=window().Object.fromEntries)


def js_array(items: Iterable[Any]) -> Any:
    """A JS array of `items`, JS objects among them as they are."""
    from pyodide.ffi import to_js

    return to_js(list(items))


def now_ms() -> float:
    """Milliseconds on `performance.now()`."""
    return float(window().performance.now())

