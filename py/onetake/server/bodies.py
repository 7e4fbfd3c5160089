"""What browsers keep for ever, compressed as they like it: files and bytes whose path names their content.

    kept_file(request.headers, web / "boot.mjs")
    kept_bytes(request.headers, wheel, "application/octet-stream")

What others made (web/vendor/) was compressed when it was brought in, see web/build.py; what is ours may change at any
time and is compressed when it is asked for, which takes milliseconds, once. A compressed body says in
`x-uncompressed-length` how long it will be: `content-length` is that of what is sent. Used by `page_routes`.
"""

from __future__ import annotations

import gzip
import mimetypes
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response

# Python asks the system, which may say anything (the registry on Windows); browsers insist on these (pyodide.md 31).
MEDIA_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".ts": "text/plain"}

KEPT = {"cache-control": "public, max-age=31536000, immutable", "vary": "Accept-Encoding"}

# How a file is called that is compressed already, best first.
ENDINGS = {"br": ".br", "gzip": ".gz"}

COMPRESSIBLE = {".mjs", ".js", ".css", ".svg", ".ts"}


def kept_file(asked: Headers, path: Path) -> Response:
    """The file, in the best form there is of it that the request accepts."""
    media_type = MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
    forms = {name: form for name, ending in ENDINGS.items() if (form := path.with_name(path.name + ending)).is_file()}
    if not forms and path.suffix in COMPRESSIBLE:
        return kept_bytes(asked, path.read_bytes(), media_type)
    encoding = chosen(asked.get("accept-encoding", ""), forms)
    if encoding is None:
        return FileResponse(path, media_type=media_type, headers=KEPT)
    return FileResponse(forms[encoding], media_type=media_type, headers=_headers(encoding, path.stat().st_size))


def kept_bytes(asked: Headers, content: bytes, media_type: str) -> Response:
    """These bytes, with gzip if the request accepts it."""
    encoding = chosen(asked.get("accept-encoding", ""), ["gzip"])
    if encoding is None:
        return Response(content, media_type=media_type, headers=KEPT)
    return Response(_gzipped(content), media_type=media_type, headers=_headers(encoding, len(content)))


def chosen(accept: str, offered: Iterable[str]) -> str | None:
    """Which of the encodings `offered`, best first, the field Accept-Encoding likes most (RFC 9110, 12.5.3).

    None: send it as it is. What is no number from 0 to 1 weighs nothing.
    """
    weights: dict[str, float] = {}
    for item in accept.lower().split(","):
        name, _, parameter = (part.strip() for part in item.partition(";"))
        weights[name] = _weight(parameter)

    def weight(name: str) -> float:
        return weights.get(name, weights.get("*", 0.0))

    best = max(offered, key=weight, default=None)
    return best if best is not None and 0 < weight(best) >= weights.get("identity", 0.0) else None


def _weight(parameter: str) -> float:
    name, _, value = (part.strip() for part in parameter.partition("="))
    if not name:
        return 1.0
    try:
        weight = float(value) if name == "q" else 0.0
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


def _headers(encoding: str, length: int) -> dict[str, str]:
    return {**KEPT, "content-encoding": encoding, "x-uncompressed-length": str(length)}


@lru_cache(maxsize=64)
def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
