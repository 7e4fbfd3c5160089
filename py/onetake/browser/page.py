"""The WebUI: what is sent, shown, spoken, stopped and written anew. Started by `web/boot.mjs`.

    page.start('{"base": "http://…/", "voice": {…}}')     # returns what boot.mjs calls: send(text), inspect(boot)
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from onetake.browser.ffi import js_object, now_ms, web, window
from onetake.browser.inspection import Floor, snapshot
from onetake.browser.replies import ReplyStream
from onetake.browser.scope import Scope
from onetake.browser.view import ReplyView
from onetake.browser.voice import Voice
from onetake.cues import UnitChanged
from onetake.streams import Delta, Event, Failed, Final, Reset, Start, Stopped, Tool, UnitEnd
from onetake.units import Unit

STATUS = {
    "idle": "",
    "listening": "Writing …",
    "speaking": "Speaking",
    "paused": "Paused",
    "blocked": "The browser holds the sound back until you tap.",
    "failed": "The reply broke off.",
}


def start(config: str) -> Any:
    """Bring the page to life. `config` is JSON: `base`, the page's address, and `voice`, one of `GET /voices` or null.

    Returns a JS object: `send(text)` begins a reply, `inspect(boot)` returns the snapshot of design 10 as JSON.
    """
    scope = Scope()
    page = Page(scope, **json.loads(config))
    return js_object({"send": scope.proxy(page.send), "inspect": scope.proxy(page.inspect)})


class Page:
    """One conversation: a voice, and the reply it speaks. A new message replaces the reply before it."""

    def __init__(self, scope: Scope, base: str, voice: dict[str, Any] | None) -> None:
        self._scope = scope
        self._base = base
        self._conversation: str | None = None
        self._turn: Turn | None = None
        self._floor = Floor()
        self._shown_state = ""
        self._ids: dict[str, Any] = {}
        self.voice = Voice(
            scope,
            web().audioContext,
            speech_url=base + "speech",
            voice=voice["id"] if voice else None,
            concurrency=voice["concurrency"] if voice else 1,
            audio_tags=voice["audio_tags"] if voice else False,
            hold=web().hold,
            on_change=self._on_change,
            on_unit=self._on_unit,
        )
        scope.listen(self._element("stop"), "click", lambda _event: self.stop())
        scope.listen(self._element("regenerate"), "click", lambda _event: self.regenerate())
        self._on_change()

    # -- what the listener does ----------------------------------------------------------------

    def send(self, text: str) -> None:
        """Begin the reply to `text`. The reply before it is stopped and falls silent."""
        stopping = self.stop()
        if self._turn is not None:
            self._turn.scope.dispose()
        self.voice.begin()
        self._floor = Floor(sent=now_ms())
        turn = self._turn = Turn(self, self._scope.child(), self._element("log"), self._base)

        async def converse() -> None:
            if stopping is not None:
                await stopping  # the model is to know what was heard before it writes on
            await turn.stream.begin(text, self._conversation)

        turn.scope.spawn(converse())
        self._on_change()

    def stop(self) -> asyncio.Task[object] | None:
        """Silent now. The task, if any, ends when the server has stopped writing and knows what was heard."""
        turn = self._turn
        if turn is None or not self._can_stop():
            return None
        heard = self.voice.heard
        self.voice.stop()
        return self._scope.spawn(turn.stream.stop(heard))

    def regenerate(self) -> None:
        """The old voice is silent now; the reply is written anew."""
        turn = self._turn
        if turn is None or turn.stream.id is None:
            return
        self.voice.stop()
        self._floor = Floor(sent=now_ms())
        turn.scope.spawn(turn.stream.regenerate())

    # -- what the reply brings -----------------------------------------------------------------

    def on_reply(self, turn: Turn, event: Event) -> None:
        """Take one event of the reply stream to the voice and the view."""
        match event:
            case Start(_, conversation, _):
                self._conversation = conversation
            case Delta(text):
                self._count(text)
                turn.view.text(text)
                self.voice.delta(text)
            case UnitEnd(at):
                turn.view.close()
                self.voice.unit_end(at)
            case Tool(_, name, "call", _):
                turn.view.tool(name)
            case Reset(at, _):
                turn.view.clear()
                self.voice.reset(at)
            case Final():
                turn.view.close()
                self.voice.final()
            case Stopped():
                turn.view.close()
            case Failed(code, message):
                turn.view.trouble(message)
                self.voice.fail(code, message)
        self._on_change()

    def _count(self, text: str) -> None:
        now = now_ms()
        self._floor.first_delta = self._floor.first_delta or now
        self._floor.last_delta = now
        self._floor.characters += len(text)

    # -- what the page shows -------------------------------------------------------------------

    def inspect(self, boot: str) -> str:
        """The snapshot of design 10 as JSON; `boot` is its part on the boot, which JavaScript knows."""
        return json.dumps(snapshot(self.voice, self._scope, self._floor, json.loads(boot)))

    def _can_stop(self) -> bool:
        return self.voice.state in ("speaking", "paused", "blocked", "listening")

    def _on_change(self) -> None:
        if self._turn is None:
            return
        state = self.voice.state
        if state == self._shown_state:
            return
        self._shown_state = state
        self._element("status").textContent = STATUS[state]
        self._element("stop").disabled = not self._can_stop()
        self._element("regenerate").disabled = self._turn.stream.id is None
        self._element("hear").hidden = state != "blocked"

    def _on_unit(self, unit: Unit, change: UnitChanged) -> None:
        if self._turn is not None:
            self._turn.view.mark(unit.start, change.state, change.message)

    def _element(self, name: str) -> Any:
        if name not in self._ids:
            self._ids[name] = window().document.getElementById(name)
        return self._ids[name]


class Turn:
    """One message and its reply: the stream it comes by and the view it is shown in."""

    def __init__(self, page: Page, scope: Scope, log_js: Any, base: str) -> None:
        self.scope = scope
        self.view = ReplyView(scope, log_js)
        self.stream = ReplyStream(scope, base, lambda event: page.on_reply(self, event))
