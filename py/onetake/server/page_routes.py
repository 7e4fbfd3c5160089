"""The routes of the page: index.html, what it loads, and this package's wheel for its Python.

    app.include_router(router(model="scripted", voice=None))

Everything but index.html and `GET /health` is under a path that names its content, and kept by browsers for
ever: a visit never mixes two releases, and the next one asks for nothing twice. Imported by `onetake.server.app`.
"""

from __future__ import annotations

import hashlib
import mimetypes
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse, Response

from onetake.server.errors import ApiError
from onetake.server.page import content_hash, page_root, page_wheel

# Python asks the system, which may say anything (the registry on Windows); browsers insist on these (pyodide.md 31).
MEDIA_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}

KEPT = {"cache-control": "public, max-age=31536000, immutable"}
ASKED_FOR = {"cache-control": "no-cache"}


def router(model: str, voice: str | None) -> APIRouter:
    """The routes over the page that is installed. `model` and `voice` are what `GET /health` names."""
    root = page_root()
    for ending, media_type in MEDIA_TYPES.items():
        mimetypes.add_type(media_type, ending)
    routes = APIRouter()

    @routes.get("/health")
    async def health() -> dict[str, Any]:
        """That the server is up, and what the page needs to begin: where this package's wheel is, and who speaks."""
        name, content = page_wheel()
        return {
            "status": "ok",
            "version": version("onetake"),
            "model": model,
            "voice": voice,
            "wheel": f"wheels/{content_hash(content)}/{name}",
        }

    @routes.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        """The page, with the paths of its files made those of their content."""
        html = (root / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(html.replace('="web/', f'="web/{_tree_hash(root / "web")}/'), headers=ASKED_FOR)

    @routes.get("/web/{hash}/{path:path}", include_in_schema=False)
    async def file(hash: str, path: str) -> FileResponse:
        web = root / "web"
        found = (web / path).resolve()
        if hash != _tree_hash(web) or not found.is_relative_to(web.resolve()) or not found.is_file():
            raise ApiError(404, "unknown_file", f"There is no web/{hash}/{path}: load the page again.")
        return FileResponse(found, headers=KEPT)

    @routes.get("/wheels/{hash}/{name}", include_in_schema=False)
    async def wheel(hash: str, name: str) -> Response:
        known_name, content = page_wheel()
        if (hash, name) != (content_hash(content), known_name):
            raise ApiError(404, "unknown_wheel", f"There is no wheel {hash}/{name}: load the page again.")
        return Response(content, media_type="application/octet-stream", headers=KEPT)

    return routes


def _tree_hash(directory: Path) -> str:
    """A short name for exactly these files. Files are read again only when one has changed (an editable install)."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return _hash_of(directory, tuple((path, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=1)
def _hash_of(directory: Path, files: tuple[tuple[Path, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _ in files:
        digest.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
