"""The web application: the routes of design 6, and the page.

    app = create_app(build_agent(None), engines, model="scripted", voice=None, hosts=["127.0.0.1"])

`create_app` opens no socket; `onetake.server.serving` does.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from pydantic_ai import Agent
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetake.server import errors, reply_routes
from onetake.server.agents import Deps
from onetake.server.page import content_hash, page_root, page_wheel
from onetake.server.replies import Replies
from onetake.server.speech import routes as speech_routes
from onetake.server.speech.engine import Engine

# Python asks the system, which may say anything (the registry on Windows); browsers insist on these (pyodide.md 31).
MEDIA_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}

# Everything comes from here and nothing is evaluated, but for the WebAssembly that Pyodide is.
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def create_app(
    agent: Agent[Deps, str],
    engines: Sequence[Engine],
    *,
    model: str,
    voice: str | None,
    hosts: Sequence[str],
) -> FastAPI:
    """The application.

    `model` is the name shown to people. `voice` is the id of the voice the page asks for; None: the first one
    there is. Requests that name a host other than `hosts` are refused, so that no foreign page reaches a
    loopback server under a name of its own (DNS rebinding); `"*"` allows any.
    """
    for ending, media_type in MEDIA_TYPES.items():
        mimetypes.add_type(media_type, ending)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.gather(*(engine.warm() for engine in engines))
        yield
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        await asyncio.gather(*(engine.aclose() for engine in engines))

    # FastAPI's own pages of documentation load scripts from elsewhere.
    app = FastAPI(title="Onetake", version=version("onetake"), lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    errors.install(app)
    app.state.replies = Replies(agent)  # ended by whoever serves, see onetake.server.serving
    app.include_router(reply_routes.router(app.state.replies))
    app.include_router(speech_routes.router(engines))
    _add_page(app, model, voice)
    return app


def _add_page(app: FastAPI, model: str, voice: str | None) -> None:
    root = page_root()

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """That the server is up, and what the page needs to begin: where this package's wheel is, and who speaks."""
        name, content = page_wheel()
        return {
            "status": "ok",
            "version": app.version,
            "model": model,
            "voice": voice,
            "wheel": f"wheels/{content_hash(content)}/{name}",
        }

    @app.get("/wheels/{hash}/{name}")
    async def wheel(hash: str, name: str) -> Response:
        known_name, content = page_wheel()
        if (hash, name) != (content_hash(content), known_name):
            raise errors.ApiError(404, "unknown_wheel", f"There is no wheel {hash}/{name}: load the page again.")
        kept = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(content, media_type="application/octet-stream", headers=kept)

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(root / "index.html", headers={"cache-control": "no-cache"})

    app.mount("/web", _Files(directory=root / "web"))


class _Files(StaticFiles):
    """Files that a browser keeps but asks about each time, so that a new release is never mixed with an old one."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


class SecurityHeaders:
    """Adds `SECURITY_HEADERS` to every response; streams pass through untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)
