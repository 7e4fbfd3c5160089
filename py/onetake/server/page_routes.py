"""The routes of the page: index.html, what it loads, and this package's wheel for its Python.

    app.include_router(router(model="scripted", voice=None))

Everything but index.html, `GET /health` and the address for pages of other people, onetake.js, is under a path that
names its content, and kept by browsers for ever: a visit never mixes two releases, and the next one asks for nothing
twice. Imported by `onetake.server.app`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from onetake.server.bodies import MEDIA_TYPES, kept_bytes, kept_file
from onetake.server.errors import ApiError
from onetake.server.page import content_hash, page_root, page_wheel

ASKED_FOR = {"cache-control": "no-cache"}


def router(model: str, voice: str | None) -> APIRouter:
    """The routes over the page that is installed. `model` and `voice` are what `GET /health` names."""
    root = page_root()
    routes = APIRouter()

    def released_index() -> str:
        """index.html, with the paths of files made those of their content."""
        name, content = page_wheel()
        html = (root / "index.html").read_text(encoding="utf-8")
        html = html.replace('="wheels/onetake.whl"', f'="wheels/{content_hash(content)}/{name}"')
        return html.replace('="web/', f'="web/{_tree_hash(root / "web")}/')

    @routes.get("/health")
    async def health() -> dict[str, Any]:
        """That the server is up, and what a page needs to begin: where the code is, and who speaks."""
        name, content = page_wheel()
        return {
            "status": "ok",
            "version": version("onetake"),
            "model": model,
            "voice": voice,
            "wheel": f"wheels/{content_hash(content)}/{name}",
            "web": f"web/{_tree_hash(root / 'web')}/",
        }

    @routes.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse(released_index(), headers=ASKED_FOR)

    @routes.get("/service-worker.js", include_in_schema=False)
    async def service_worker() -> Response:
        """It keeps what index.html names. It changes with every release, which is how browsers learn of one."""
        code = (root / "web" / "service-worker.js").read_text(encoding="utf-8")
        named = re.findall(r'="((?:web|wheels)/[^"]+)"', released_index())
        code = code.replace("const FILES = [];", f"const FILES = {json.dumps(named)};")
        return Response(code, media_type="text/javascript", headers=ASKED_FOR)

    @routes.get("/onetake.js", include_in_schema=False)
    async def embedding() -> Response:
        """The address that pages of other people name: it stays, and leads to the release that is served now."""
        code = f'export * from "./web/{_tree_hash(root / "web")}/onetake.js";\n'
        return Response(code, media_type="text/javascript", headers=ASKED_FOR)

    @routes.get("/onetake.d.ts", include_in_schema=False)
    async def embedding_types() -> FileResponse:
        types = root / "web" / "onetake.d.ts"
        return FileResponse(types, media_type=MEDIA_TYPES[types.suffix], headers=ASKED_FOR)

    @routes.get("/web/{hash}/{path:path}", include_in_schema=False)
    async def file(request: Request, hash: str, path: str) -> Response:
        web = root / "web"
        found = (web / path).resolve()
        if hash != _tree_hash(web) or not found.is_relative_to(web.resolve()) or not found.is_file():
            raise ApiError(404, "unknown_file", f"There is no web/{hash}/{path}: load the page again.")
        return kept_file(request.headers, found)

    @routes.get("/wheels/{hash}/{name}", include_in_schema=False)
    async def wheel(request: Request, hash: str, name: str) -> Response:
        known_name, content = page_wheel()
        if (hash, name) != (content_hash(content), known_name):
            raise ApiError(404, "unknown_wheel", f"There is no wheel {hash}/{name}: load the page again.")
        return kept_bytes(request.headers, content, "application/octet-stream")

    return routes


def _tree_hash(directory: Path) -> str:
    """A short name for exactly these files. Files are read again only when one has changed (an editable install)."""
    return _hash_of(directory, tuple(sorted(_files(directory))))


def _files(directory: str | Path) -> Iterator[tuple[str, int]]:
    """Paths of all files and when they changed. By `os.scandir`, since it is done for every request."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                yield entry.path, entry.stat().st_mtime_ns


@lru_cache(maxsize=1)
def _hash_of(directory: Path, files: tuple[tuple[str, int], ...]) -> str:
    digest = hashlib.sha256()
    for path in (Path(name) for name, _ in files):
        digest.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
