"""How a page of somebody else gets a voice: from its JavaScript (`web/onetake.js`), and from its Python.

    import micropip
    await micropip.install("onetake")
    from onetake.browser import create_voice

    voice = await create_voice("http://127.0.0.1:8600/")
    await voice.read(await js.fetch("/chat"), "openai-chat")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from onetake.browser.embedded_voice import EVENTS, EmbeddedVoice
from onetake.browser.ffi import web, window
from onetake.browser.scope import Scope
from onetake.errors import UsageError

# -- from Python --------------------------------------------------------------------------------------------


class VoiceUnavailable(Exception):
    """The server cannot be used. `code` is stable, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


async def create_voice(
    server: str, *, speech: str | None = None, voice: str | None = None, token: str | None = None
) -> EmbeddedVoice:
    """A voice for a page whose own code is Python in Pyodide: `createVoice` with its names in snake case.

    `server` is the address of a server of this very release, which must allow the page's origin (`--allow-origin`).
    `speech` is the address of the `POST /speech` that speaks, if another one is to; `voice` is the id of the voice,
    `token` what a server beyond loopback wants. What needs JavaScript comes from the server, by a script element.

    Raises VoiceUnavailable if the server cannot be used or has no such voice, UsageError if it is of another release.
    """
    from pyodide.ffi import JsException

    server = server.rstrip("/") + "/"
    web_js = await _load_web(server)
    try:
        found_js = await web_js.findSpeaker(speech or f"{server}speech", voice, token)
    except JsException as error:
        raise VoiceUnavailable(str(error.code), str(error.message)) from None
    return EmbeddedVoice(json.loads(window().JSON.stringify(found_js)), web_js.Outlet.new())


async def _load_web(server: str) -> Any:
    """The JS module `onetake_web`, registered with Pyodide at the first call (`web/python.mjs`)."""
    with suppress(ModuleNotFoundError):
        return web()
    if not hasattr(window(), "document"):
        raise UsageError("create_voice() needs a page: a worker has no audio; call it where there is a document")
    import pyodide_js

    health = await _health(server)
    from importlib.metadata import version  # slow, and of no use to a page that wakes

    if health["version"] != version("onetake"):
        raise UsageError(
            f"this page has onetake {version('onetake')}, the server at {server} has {health['version']}: "
            f"micropip.install({server + health['wheel']!r}) installs the server's own"
        )
    await _run_module(f"{server}{health['web']}python.mjs")
    pyodide_js.registerJsModule("onetake_web", window().onetakeWeb)
    return web()


async def _health(server: str) -> Any:
    from pyodide.ffi import JsException

    try:
        response_js = await window().fetch(f"{server}health")
        return json.loads(str(await response_js.text()))
    except JsException:
        origin = window().location.origin
        message = f"{server} does not answer pages of {origin}; if it runs, start it with --allow-origin {origin}"
        raise VoiceUnavailable("server_unreachable", message) from None


async def _run_module(url: str) -> None:
    """Run a JavaScript module. By an element: Python could import it only through eval, which policies forbid."""
    scope = Scope()
    loaded = asyncio.get_running_loop().create_future()
    script_js = window().document.createElement("script")
    script_js.type, script_js.src = "module", url
    scope.listen(script_js, "load", lambda _event: loaded.set_result(True))
    scope.listen(script_js, "error", lambda _event: loaded.set_result(False))
    window().document.head.append(script_js)
    scope.own(script_js.remove, "element")
    try:
        if not await loaded:
            message = f"{url} could not be loaded; the page's policy must allow it in script-src"
            raise VoiceUnavailable("server_unreachable", message)
    finally:
        scope.dispose()


# -- from JavaScript ----------------------------------------------------------------------------------------


def counterpart(speaker: str, outlet_js: Any, tell_js: Callable[[str, str], object]) -> Any:
    """What `web/voice.mjs` holds of a new voice: JSON goes in and comes out, and as JSON `tell_js` gets each event."""
    voice = EmbeddedVoice(json.loads(speaker), outlet_js)

    def tell(event: str, detail: dict[str, Any]) -> None:
        tell_js(event, json.dumps(detail))

    for event in EVENTS:
        voice.on(event, partial(tell, event))
    return _Counterpart(voice)


class _Counterpart:
    """Methods return `{"value": …}`, or `{"misuse": …}` with what a UsageError says."""

    def __init__(self, voice: EmbeddedVoice) -> None:
        self._voice = voice

    def call(self, name: str, given: str) -> str:
        """The method of that name with these arguments, or the property."""
        try:
            named = getattr(self._voice, name)
            return json.dumps({"value": named(*json.loads(given)) if callable(named) else named})
        except UsageError as error:
            return _misuse(error)

    async def read(self, response_js: Any, protocol: str) -> str:
        try:
            outcome = await self._voice.read(response_js, protocol)
        except UsageError as error:
            return _misuse(error)
        outcome["lastEventId"] = outcome.pop("last_event_id")
        return json.dumps({"value": outcome})

    async def set_output_device(self, device: str) -> str:
        try:
            await self._voice.set_output_device(device)
        except UsageError as error:
            return _misuse(error)
        return json.dumps({})

    def dispose(self, boot: str) -> str:
        """Returns the last snapshot."""
        self._voice.dispose()
        return json.dumps({**self._voice.inspect(json.loads(boot)), "units": []})


def _misuse(error: UsageError) -> str:
    return json.dumps({"misuse": str(error)})
