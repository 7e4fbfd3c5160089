"""The WebUI: what is sent, shown, spoken, stopped and written anew. Started by `web/boot.mjs`.

    page.start('{"base": "http://…/", "voices": […], "voice": "…"}')   # returns what boot.mjs calls: send, inspect
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from onetake.browser.controls import Controls, Shown
from onetake.browser.elements import by_id
from onetake.browser.ffi import js_object, now_ms, web, window
from onetake.browser.inspection import Floor, snapshot
from onetake.browser.link import Link
from onetake.browser.past import Past
from onetake.browser.scope import Scope
from onetake.browser.shelf import SoundLetGo
from onetake.browser.speakers import Speakers
from onetake.browser.trouble import of_reply, of_unit
from onetake.browser.turn import Turn
from onetake.browser.voice import Voice
from onetake.browser.words import say
from onetake.cues import UnitChanged
from onetake.errors import UsageError
from onetake.streams import Delta, Event, Failed, Final, Reset, Start, Stopped, Tool, UnitEnd
from onetake.units import Unit


def start(config: str) -> Any:
    """Bring the page to life. `config` is JSON: `base`, the page's address, `voices` of `GET /voices`, and `voice`,
    the id of the one that speaks or null.

    Returns a JS object: `send(text)` begins a reply, `inspect(boot, anonymous)` returns the snapshot of design 10 as
    JSON, `trace(anonymous)` the session as JSON Lines.
    """
    scope = Scope()
    page = Page(scope, **json.loads(config))
    return js_object({each.__name__: scope.proxy(each) for each in (page.send, page.inspect, page.trace)})


class Page:
    """One conversation: a voice, and the reply it speaks. A new message replaces the reply before it."""

    def __init__(self, scope: Scope, base: str, voices: list[dict[str, Any]], voice: str | None) -> None:
        self._scope = scope
        self._base = base
        self._past = Past()
        self._turns: list[Turn] = []
        self._read: Turn | None = None  # the one the voice reads
        self._emotion = ""
        self._link: Link = "live"
        self._speakers = Speakers(
            scope,
            base + "speech",
            voices,
            voice,
            on_change=self._on_change,
            on_unit=self._on_unit,
            on_heard=self._on_heard,
            on_stop=self.stop,
        )
        self._controls = Controls(scope, self)
        scope.listen(by_id("log"), "click", self._on_click)
        scope.listen(by_id("sample"), "click", lambda _event: self._hear_sample())
        by_id("sample").disabled = voice is None
        for event in ("online", "offline"):
            scope.listen(window(), event, lambda _event: self._on_net())
        self._on_net()
        self._restore()
        self._on_change()

    @property
    def voice(self) -> Voice:
        """The voice that speaks now."""
        return self._speakers.voice

    @property
    def _turn(self) -> Turn | None:
        return self._turns[-1] if self._turns else None

    # -- what the listener does ----------------------------------------------------------------

    def send(self, text: str) -> None:
        """Begin the reply to `text`. The reply before it is stopped and falls silent."""
        stopping = self.stop()
        if self._turn is not None:
            self._turn.scope.dispose()
        spoken = bool(web().setting("spoken"))
        self._past.asked(text, spoken)
        turn = self._new_turn(spoken, bool(web().setting("paragraphs")))
        turn.floor = Floor(sent=now_ms())
        self._begin_reading(turn)

        async def converse() -> None:
            if stopping is not None:
                await stopping  # the model is to know what was heard before it writes on
            await turn.stream.begin(text, self._past.conversation, turn.spoken)

        turn.scope.spawn(converse())
        self._on_change()

    def _new_turn(self, spoken: bool, by_paragraphs: bool) -> Turn:
        self._link = "live"
        scope = self._scope.child()
        turn = Turn(self, scope, by_id("log"), self._base, spoken=spoken, by_paragraphs=by_paragraphs and not spoken)
        turn.listen_js.dataset.turn = str(len(self._turns))
        self._turns.append(turn)
        return turn

    def _begin_reading(self, turn: Turn) -> None:
        """Whatever the voice read is over; it reads this reply from its start, if it is to read it at all."""
        self._speakers.begin()
        self._controls.listen_to(self.voice.output.node_js)
        self._read = turn
        self._emotion = ""
        turn.timeline.clear()
        if turn.read_as_written:
            turn.view.expect_voice()

    def read_aloud(self, turn: Turn) -> None:
        """Speak a reply that is written, as one take."""
        self.stop()
        self._begin_reading(turn)
        turn.view.expect_voice()
        self.voice.delta(turn.view.raw)
        self.voice.final()

    def pause(self) -> None:
        """Hold the voice, or let it go on."""
        if self.voice.state == "paused":
            self.voice.resume()
        elif self._can_stop():
            self.voice.pause()

    def replay(self) -> None:
        """Speak again what is being said, or was said last; nothing if nothing was."""
        self._replay(None)

    def back(self) -> None:
        """Speak the unit before the one that sounds, or was the last to."""
        sounded = [entry.unit.index for entry in self.voice.reading.conductor.entries if entry.played_s > 0]
        if sounded:
            self._replay(max(0, sounded[-1] - 1))

    def _replay(self, unit: int | None) -> None:
        try:
            self.voice.replay(unit)
        except SoundLetGo:
            by_id("note").textContent = say("voice.let_go")
        except UsageError:
            pass  # there is nothing to speak again, and nothing to say about it

    def skip(self) -> None:
        """Go on with the next unit."""
        if self._can_stop():
            self.voice.skip()

    def stop(self) -> asyncio.Task[object] | None:
        """Silent now. The task, if any, ends when the server has stopped writing and knows what was heard."""
        turn = self._turn
        if not self._can_stop():
            return None
        self.voice.stop()
        heard = self.voice.heard  # after it: sound goes on until the stop
        if turn is None or turn is not self._read:
            return None
        return self._scope.spawn(turn.stream.stop(heard if turn.spoken else len(turn.view.raw)))

    def regenerate(self) -> None:
        """The old voice is silent now; the reply is written anew."""
        turn = self._turn
        if turn is None or turn.stream.id is None:
            return
        self.voice.stop()
        if turn is not self._read:
            self._begin_reading(turn)
        turn.floor = Floor(sent=now_ms())
        turn.scope.spawn(turn.stream.regenerate())

    def _hear_sample(self) -> None:
        self.stop()
        self._speakers.sample(say("settings.sample.text"))

    def _on_click(self, event_js: Any) -> None:
        listen_js = event_js.target.closest("button.listen")
        if listen_js:
            self.read_aloud(self._turns[int(listen_js.dataset.turn)])

    # -- what the reply brings -----------------------------------------------------------------

    def on_reply(self, turn: Turn, event: Event) -> None:
        """Take one event of the reply stream to the view, and to the voice if it reads along."""
        reads = turn is self._read
        along = reads and turn.read_as_written
        match event:
            case Start(reply, conversation, _):
                self._past.answered(reply, conversation)
            case Delta(text):
                turn.floor.count(text, now_ms())
                turn.view.add(text)
                if along:
                    self._feed(turn, text)
            case UnitEnd(at):
                turn.view.close()
                if along:
                    self.voice.unit_end(at)
            case Tool(call, name, "call"):
                turn.view.tool(call, name)
            case Tool(call, failed=failed):
                turn.view.tool_ended(call, failed)
            case Reset(at, _):
                turn.view.reset(at)
                if reads:
                    self._reset(turn, at)
            case Final():
                turn.view.close()
                if reads:
                    self.voice.final()
                    turn.timeline.show(self.voice.reading, turn.floor)
                    self._announce(turn)
                self._offer_reading(turn)
                turn.view.follow()
            case Stopped():
                turn.view.close()
                if reads and not along:
                    self.voice.stop()
                self._offer_reading(turn)
            case Failed(code, message, retryable):
                turn.view.trouble(of_reply(code, message), self._again(turn, code) if retryable else None)
                if reads:
                    self.voice.fail(code, message)
        self._on_change()

    def _offer_reading(self, turn: Turn) -> None:
        """A reply that is whole can be read aloud by a button if it was not spoken, or not all of it."""
        entries = self.voice.reading.conductor.entries if turn is self._read else []
        failed = any(entry.state == "failed" for entry in entries)
        turn.listen_js.hidden = turn.read_as_written and not failed

    def _feed(self, turn: Turn, text: str) -> None:
        self.voice.delta(text)
        if turn.by_paragraphs:
            for end in turn.paragraphs.feed(text):
                self.voice.unit_end(end)

    def _reset(self, turn: Turn, at: int) -> None:
        if turn.read_as_written:
            self.voice.reset(at)
            turn.restart_paragraphs()
        else:
            self._begin_reading(turn)  # it was read by the button: the listener may press it again
        turn.timeline.clear()
        turn.listen_js.hidden = True

    def _again(self, turn: Turn, code: str) -> Callable[[], object]:
        """What to try when the reply has failed with `code`."""
        if code not in ("connection_lost", "server_unreachable"):
            return self.regenerate

        def resume() -> None:
            turn.view.relieve()
            if turn is self._read:
                self.voice.go_on()
            turn.scope.spawn(turn.stream.resume())

        return resume

    def on_link(self, turn: Turn, link: Link) -> None:
        """Say whether the connection is being sought."""
        if turn is self._turn:
            self._link = link
            self._on_change()

    def _announce(self, turn: Turn) -> None:
        """A whole reply is told to a screen reader if no voice speaks it, or if the listener wants both."""
        apart = turn.read_as_written and bool(web().setting("apart"))
        by_id("announcement").textContent = "" if apart else turn.view.text

    # -- what the page shows -------------------------------------------------------------------

    def trace(self, anonymous: bool) -> str:
        """The session as JSON Lines for `onetake replay`; `anonymous` masks every word of the conversation."""
        return self.voice.trace.text(anonymous)

    def inspect(self, boot: str, anonymous: bool) -> str:
        """The snapshot of design 10 as JSON; `boot` is its part on the boot, which JavaScript knows."""
        floor = self._read.floor if self._read is not None else Floor()
        return json.dumps(snapshot(self.voice, self._scope, floor, json.loads(boot), anonymous))

    def _can_stop(self) -> bool:
        return self.voice.state in ("speaking", "paused", "blocked", "listening")

    def _on_change(self) -> None:
        turn = self._turn
        conductor = self.voice.reading.conductor
        status = self.voice.state
        if "reconnecting" in (self._link, self.voice.link):
            status = "reconnecting"
        elif status == "idle" and self._read is not None:
            status = "stopped" if conductor.stopped else "done"
        self._controls.show(
            Shown(
                self.voice.state,
                f"state.{status}",
                self._emotion,
                can_stop=self._can_stop(),
                can_replay=bool(conductor.entries),
                can_regenerate=turn is not None and turn.stream.id is not None,
            )
        )

    def _on_unit(self, unit: Unit, change: UnitChanged) -> None:
        turn = self._read
        if turn is None:
            return
        if change.state == "playing":
            self._emotion = unit.emotion or ""
        trouble = None
        if change.state == "failed" and change.code and change.message:
            spoken = self.voice.reading.conductor.entries[unit.index].spoken
            trouble = of_unit(change.code, change.message, spoken.text, self._speakers.limit)
            if self.voice.reading.cutter.final:
                self._offer_reading(turn)
        turn.view.mark(unit.start, change.state, trouble)
        turn.timeline.show(self.voice.reading, turn.floor, unit.index)

    def _on_heard(self, heard: int) -> None:
        if self._read is not None:
            self._read.view.heard(heard)

    def _on_net(self) -> None:
        by_id("net").hidden = bool(window().navigator.onLine)

    # -- over a reload -------------------------------------------------------------------------

    def _restore(self) -> None:
        """Show the conversation there was before the page was loaded again; none of it is spoken again."""
        for reply in self._past.replies:
            turn = self._new_turn(reply["spoken"], by_paragraphs=False)
            by_id("log").insertBefore(self._past.message(reply), turn.view.article_js)
            turn.stream.id = reply["id"]
        if self._turns:
            *older, last = self._turns
            last.scope.spawn(last.stream.resume())  # it may still be written
            self._scope.spawn(_in_turn(older))
        by_id("log").append(*window().document.querySelectorAll(".message.waiting"))  # sent before the page was ready
        by_id("main").scrollTop = by_id("main").scrollHeight


async def _in_turn(older: list[Turn]) -> None:
    """Fetch replies one after the other, what is nearest to the end first: the listener looks there, and may speak."""
    for turn in reversed(older):
        await web().idle()
        await turn.stream.resume()
