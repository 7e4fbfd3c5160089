"""The web application: the routes of design 6, and the page.

    app = create_app(build_agent(None), engines, model="scripted", voice=None, hosts=["127.0.0.1"])

`create_app` opens no socket; `onetake.server.serving` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from pydantic_ai.agent import AbstractAgent
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetake.server import errors, page_routes, reply_routes
from onetake.server.access import Access
from onetake.server.replies import Replies
from onetake.server.speech import routes as speech_routes
from onetake.server.speech.engine import Engine
from onetake.server.store import Store

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
    agent: AbstractAgent[Any, Any],
    engines: Sequence[Engine],
    *,
    model: str,
    voice: str | None,
    store: Store | None = None,
    hosts: Collection[str] | None,
    token: str | None = None,
    origins: Collection[str] = (),
) -> FastAPI:
    """The application.

    `model` is the name shown to people. `voice` is the id of the voice the page asks for; None: the first one
    there is. `store` keeps the replies; None: this process's memory. `hosts`, `token` and `origins` say who may
    use the server, see `onetake.server.access`.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.gather(*(engine.warm() for engine in engines))
        yield
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)
        await asyncio.gather(*(engine.aclose() for engine in engines))

    # FastAPI's own pages of documentation load scripts from elsewhere.
    app = FastAPI(title="Onetake", version=version("onetake"), lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(Access, hosts=hosts, token=token, origins=origins)
    app.add_middleware(SecurityHeaders)  # outermost: on refusals, too
    errors.install(app)
    # The voice that the page will ask for.
    speaker = next((each for engine in engines for each in engine.voices if voice in (None, each.id)), None)
    audio_tags = speaker is not None and speaker.audio_tags
    # Ended by whoever serves, see onetake.server.serving.
    app.state.replies = Replies(agent, store, audio_tags=audio_tags)
    app.include_router(reply_routes.router(app.state.replies))
    app.include_router(speech_routes.router(engines))
    app.include_router(page_routes.router(model, voice))
    return app


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
