"""JSON from elsewhere, parsed without risk to the process."""

from __future__ import annotations

import json
import re
from typing import Any

DEPTH_LIMIT = 200
"""How deep arrays and objects may be nested. Deeper ones end Pyodide itself: no RecursionError comes there
before the stack of WebAssembly is used up."""

_BRACKET_OR_STRING = re.compile(r'[][{}]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def parse(text: str) -> Any:
    """The value that the JSON text holds. Raises ValueError for a text that holds none or nests too deeply."""
    if text.count("[") + text.count("{") > DEPTH_LIMIT and _is_too_deep(text):
        raise ValueError(f"nested more than {DEPTH_LIMIT} deep")
    return json.loads(text)


def _is_too_deep(text: str) -> bool:
    depth = 0
    for found in _BRACKET_OR_STRING.finditer(text):
        if found[0] in ("[", "{"):
            depth += 1
            if depth > DEPTH_LIMIT:
                return True
        elif found[0] in ("]", "}"):
            depth -= 1
    return False
