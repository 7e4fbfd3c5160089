"""The connection to one reply on the server: begins it, reads its events, has it written anew or stopped.

    stream = ReplyStream(scope.child(), base_url, on_event, on_link)
    await stream.begin("What is on today?", conversation=None)     # returns when the reply has ended
    await stream.resume()                                          # after the connection was given up

A connection that breaks is opened again from the last event on, as often as it takes, so that a drop costs neither
a word nor a unit and none comes twice. A server that cannot be reached is sought for a while (`onetake.browser.link`);
the page chooses the reply's id, so that a message that got no answer can be sent again and is answered once.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from typing import Any

from onetake.browser.ffi import js_object, now_ms, window
from onetake.browser.link import GIVE_UP_S, Link, seek
from onetake.browser.reading import read, refusal
from onetake.browser.scope import Scope
from onetake.streams import Event, Failed, Reset, Start, open_adapter

ANSWER_S = 10.0
"""How long one attempt may take."""

SILENT_S = 40.0
"""A connection without a byte for so long is dead, however open it looks: the server pings every 15 seconds."""

UNREACHABLE = f"The server has not answered for {GIVE_UP_S:g} seconds."
FORGOTTEN = "The server no longer has this reply; perhaps it was restarted. Send the message again."
LOST = f"The connection to the server was lost and has not come back for {GIVE_UP_S:g} seconds."


class ReplyStream:
    """Reads one reply. `on_event` gets its events in order, each once; after `scope` has ended, none.

    `on_link` is told when the connection is being sought and when that is over.
    """

    def __init__(
        self,
        scope: Scope,
        base_url: str,
        on_event: Callable[[Event], object],
        on_link: Callable[[Link], object],
    ) -> None:
        self._scope = scope
        self._base_url = base_url
        self._on_event = on_event
        self._on_link = on_link
        self._adapter = open_adapter("onetake")
        self._message: dict[str, Any] = {}
        self._reading = False
        self._generation = 0  # the newest one read of
        self._wanted = 0  # the newest one asked for
        self._stop_at: int | None = None  # the listener stopped before the server had told the reply's id
        #: The reply's id, once the server has told it.
        self.id: str | None = None

    async def begin(self, text: str, conversation: str | None, spoken: bool = True) -> None:
        """Ask for a reply to `text`, to be listened to or to be read, and read it to its end."""
        self._message = {"id": secrets.token_urlsafe(12), "text": text, "spoken": spoken}
        if conversation is not None:
            self._message["conversation"] = conversation
        await self._begin()

    async def _begin(self) -> None:
        connection = self._scope.child()
        response_js = await self._reach("POST", "replies", self._message, connection=connection)
        if response_js is None:
            self._tell(Failed("server_unreachable", UNREACHABLE, retryable=True))
        elif not response_js.ok:
            self._tell(await _refused(response_js))
        else:
            self.id = str(response_js.headers.get("location")).rpartition("/")[2]
            await self._read(response_js, connection)
        connection.dispose()

    async def resume(self) -> None:
        """Seek the connection again after it was given up."""
        if self.id is None:
            await self._begin()
        elif not self._reading:
            await self._read(None, self._scope.child())

    async def regenerate(self) -> None:
        """Have the reply written anew; reads on if its stream had ended."""
        response_js = await self._reach("POST", f"replies/{self.id}/regenerate")
        if response_js is None:
            self._tell(Failed("connection_lost", LOST, retryable=True))
        elif not response_js.ok:
            self._tell(await _refused(response_js))
        else:
            self._wanted = int((await response_js.json()).generation)
            await self.resume()

    async def stop(self, heard: int) -> None:
        """End the writing, and tell the conversation how far the reply was heard (a code point).

        Also goes on trying without a connection. A server that no longer knows the reply has nothing to stop.
        """
        if self.id is None:
            self._stop_at = heard
            return
        await self._reach("DELETE", f"replies/{self.id}")
        await self._reach("PUT", f"replies/{self.id}/heard", {"at": heard, "generation": self._generation})

    # -- reading -------------------------------------------------------------------------------

    async def _read(self, response_js: Any, connection: Scope) -> None:
        """Read to the end of the reply; opens the stream again when it breaks, or first if there is no response."""
        self._reading = True
        try:
            while not self._scope.disposed:
                if response_js is not None:
                    await self._take_in(response_js, connection)
                if self._adapter.ended and self._generation >= self._wanted:
                    return
                connection.dispose()
                connection = self._scope.child()
                response_js = await self._open_again(connection)
                if response_js is None:
                    return
        finally:
            self._reading = False
            connection.dispose()

    async def _take_in(self, response_js: Any, connection: Scope) -> None:
        """Read one response to its end, or until it has been silent for too long."""
        ear = _Ear(self._adapter)

        def listen() -> None:
            if now_ms() - ear.last_ms > SILENT_S * 1000:
                connection.dispose()  # which aborts it

        connection.every(SILENT_S * 25, listen)
        async for event in read(response_js, ear):
            self._tell(event)

    async def _open_again(self, connection: Scope) -> Any:
        """The stream from the last event on; None if it is not to be had, which has been told then."""
        headers = {"last-event-id": self._adapter.last_event_id or "0"}
        path = f"replies/{self.id}/events"
        response_js = await self._reach("GET", path, headers=headers, connection=connection, dropped=True)
        if response_js is None:
            self._tell(Failed("connection_lost", LOST, retryable=True))
        elif response_js.status == 404:
            self._tell(Failed("unknown_reply", FORGOTTEN))
        elif response_js.ok:
            return response_js
        else:
            self._tell(await _refused(response_js))
        return None

    def _tell(self, event: Event) -> None:
        if self._scope.disposed:
            return
        if isinstance(event, Reset):
            self._generation = event.generation or self._generation
        if isinstance(event, Start):
            self.id, self._generation = event.reply, event.generation
            if self._stop_at is not None:
                self._scope.spawn(self.stop(self._stop_at))
        self._on_event(event)

    # -- asking --------------------------------------------------------------------------------

    async def _reach(
        self, method: str, path: str, body: Any = None, *, dropped: bool = False, **options: Any
    ) -> Any:
        """The server's answer, sought for a while; None if there is none."""

        async def ask() -> Any:
            response_js = await self._try(method, path, body, **options)
            return None if response_js is None or response_js.status >= 500 else response_js

        scope = Scope() if self._scope.disposed else self._scope  # a stop goes on after its reply is gone
        return await seek(ask, scope, self._on_link, dropped=dropped)

    async def _try(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        connection: Scope | None = None,
    ) -> Any:
        """One request; None if nothing comes back. The response lives as long as `connection`, if one is given."""
        from pyodide.ffi import JsException

        controller_js = connection.abort_controller() if connection else window().AbortController.new()
        options: dict[str, Any] = {"method": method, "headers": headers or {}, "signal": controller_js.signal}
        if body is not None:
            options["headers"]["content-type"] = "application/json"
            options["body"] = json.dumps(body)
        answer = asyncio.ensure_future(window().fetch(self._base_url + path, js_object(options)))
        if not (await asyncio.wait([answer], timeout=ANSWER_S))[0]:
            controller_js.abort()
        try:
            return await answer
        except JsException:
            return None


class _Ear:
    """The adapter of a reply, and when it was last fed: also bytes without an event say that somebody is there."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter
        self.last_ms = now_ms()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def feed(self, data: bytes) -> list[Event]:
        self.last_ms = now_ms()
        return list(self._adapter.feed(data))


async def _refused(response_js: Any) -> Failed:
    return refusal(str(await response_js.text()), int(response_js.status))
