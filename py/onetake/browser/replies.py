"""The connection to one reply on the server: begins it, reads its events, has it written anew or stopped.

    stream = ReplyStream(scope.child(), base_url, on_event)
    await stream.begin("What is on today?", conversation=None)     # returns when the stream has ended
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from onetake.browser.ffi import js_object, window
from onetake.browser.scope import Scope
from onetake.streams import Event, Failed, Reset, Start, open_adapter

LOST = "the connection to the server was lost; send the message again when it is back"


class ReplyStream:
    """Reads one reply. `on_event` gets its events in order, each once; after `scope` has ended, none."""

    def __init__(self, scope: Scope, base_url: str, on_event: Callable[[Event], object]) -> None:
        self._scope = scope
        self._base_url = base_url
        self._on_event = on_event
        self._adapter = open_adapter("onetake")
        self._signal_js = scope.abort_controller().signal
        self._reading = False
        self._generation = 0  # the newest one read of
        self._wanted = 0  # the newest one asked for
        self._stop_at: int | None = None  # the listener stopped before the server had told the reply's id
        #: The reply's id, once the server has told it.
        self.id: str | None = None

    async def begin(self, text: str, conversation: str | None) -> None:
        """Ask for a reply to `text` and read it to the end of the connection."""
        body: dict[str, Any] = {"text": text, "spoken": True}
        if conversation is not None:
            body["conversation"] = conversation
        await self._read(await self._request("POST", "replies", body, signal_js=self._signal_js))

    async def regenerate(self) -> None:
        """Have the reply written anew; reads on if its stream had ended."""
        response_js = await self._request("POST", f"replies/{self.id}/regenerate")
        if response_js is not None:
            self._wanted = int((await response_js.json()).generation)
            if not self._reading:
                await self._read_on()

    async def stop(self, heard: int) -> None:
        """End the writing, and tell the conversation how far the reply was heard (a code point)."""
        if self.id is None:
            self._stop_at = heard
            return
        await self._request("DELETE", f"replies/{self.id}")
        await self._request("PUT", f"replies/{self.id}/heard", {"at": heard, "generation": self._generation})

    async def _request(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        signal_js: Any = None,
    ) -> Any:
        """The response, or None if it was refused or never came, which is then reported as `Failed`."""
        from pyodide.ffi import JsException

        options: dict[str, Any] = {"method": method, "headers": headers or {}}
        if signal_js is not None:
            options["signal"] = signal_js
        if body is not None:
            options["headers"]["content-type"] = "application/json"
            options["body"] = json.dumps(body)
        try:
            response_js = await window().fetch(self._base_url + path, js_object(options))
            if response_js.ok:
                return response_js
            failed = _refusal(str(await response_js.text()), int(response_js.status))
        except JsException:
            failed = Failed("server_unreachable", f"the server does not answer; {LOST.split('; ')[1]}", retryable=True)
        self._tell(failed)
        return None

    async def _read(self, response_js: Any) -> None:
        from pyodide.ffi import JsException

        if response_js is None:
            return
        self._reading = True
        with suppress(JsException):  # lost, or aborted by us: the adapter and the scope tell which
            reader_js = response_js.body.getReader()
            while not (chunk_js := await reader_js.read()).done:
                for event in self._adapter.feed(chunk_js.value.to_bytes()):
                    self._tell(event)
        self._reading = False
        self._adapter.end_response()
        if not self._adapter.ended:
            self._tell(Failed("connection_lost", LOST, retryable=True))
        elif self._generation < self._wanted:  # the stream had ended while the new take was being asked for
            await self._read_on()

    async def _read_on(self) -> None:
        last = {"last-event-id": self._adapter.last_event_id or "0"}
        path = f"replies/{self.id}/events"
        await self._read(await self._request("GET", path, headers=last, signal_js=self._signal_js))

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


def _refusal(body: str, status: int) -> Failed:
    try:
        error = json.loads(body)["error"]
        return Failed(str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return Failed(f"http_{status}", f"the server answered with status {status}")
