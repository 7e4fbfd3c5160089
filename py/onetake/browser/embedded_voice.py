"""A voice in a page of somebody else: what it can be asked for, and what it tells.

    voice = EmbeddedVoice(speaker, outlet_js)               # made by `onetake.browser.embedding`
    voice.on("heard", lambda event: print(event["at"]))
    await voice.read(response_js, "openai-chat")            # or delta(), unit_end(), reset(), final()
    voice.dispose()

A page may hold several of them; each owns what it uses, and gives it back when it is disposed of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from onetake.browser.ffi import now_ms, window
from onetake.browser.inspection import Floor, snapshot
from onetake.browser.reading import read
from onetake.browser.scope import Scope
from onetake.browser.voice import Voice
from onetake.cues import UnitChanged
from onetake.errors import UsageError
from onetake.shown import shown
from onetake.streams import Adapter, Delta, Event, Failed, Final, Reset, Stopped, UnitEnd, open_adapter
from onetake.units import Unit

#: What a voice tells, each with a dict of plain values.
EVENTS = ("unit", "heard", "state", "emotion", "reset", "error")


class EmbeddedVoice:
    """A voice that speaks the replies of a page, one at a time. Made by `create_voice`.

    Positions are code points of the reply. After `dispose()` every call does nothing and nothing is told.
    """

    def __init__(self, speaker: dict[str, Any], outlet_js: Any) -> None:
        """`speaker` is what `web/speaker.mjs` found, `outlet_js` an Outlet of `web/outlet.mjs`, ours from now on."""
        self._scope = Scope()
        self._scope.own(outlet_js.release, "outlet")
        self._voice = Voice(
            self._scope,
            outlet_js.context,
            speech_url=speaker["speech_url"],
            token=speaker["token"],
            voice=speaker["voice"],
            concurrency=speaker["concurrency"],
            audio_tags=speaker["audio_tags"],
            speeds=tuple(speaker["speeds"]),
            title=window().document.title,
            on_change=self._on_change,
            on_unit=self._on_unit,
            on_heard=lambda heard: self._tell("heard", at=heard),
            on_stop=self.stop,
        )
        self._handlers: dict[str, list[Callable[[dict[str, Any]], object]]] = {name: [] for name in EVENTS}
        self._made_ms = now_ms()
        self._floor = Floor()
        self._begun = False
        self._told_state = (self._voice.state, False)
        self._emotion: str | None = None
        self._turn: _Turn | None = None

    def on(self, event: str, handler: Callable[[dict[str, Any]], object]) -> Callable[[], None]:
        """Have `handler` called with each event of that name, a dict of plain values; returns what ends it.

        `unit`: a unit's state has changed: `generation`, `index`, `start`, `end`, `text`, `emotion`, `state`, and
        `pieces`, which are its texts and directions to show, each with its `start` in the reply. `heard`: the reply
        was heard up to `at`, told at most every 50 ms. `state`: what the voice does (`state`), and whether the reply
        was `stopped`. `emotion`: what is being said has another `emotion`, or None. `reset`: what stands from `at` on
        is void, since a reply begins (`generation` 1) or is written anew. `error`: a unit, the reply or an order
        failed: `code`, `message`, and `unit`, its index or None.
        """
        if event not in self._handlers:
            raise UsageError(f"no event is called {event!r}: there is {', '.join(EVENTS)}")
        handlers = self._handlers[event]
        handlers.append(handler)

        def end() -> None:
            if handler in handlers:
                handlers.remove(handler)

        return end

    # -- the reply -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a new reply. What was still being read, sounding or waiting of the one before is gone."""
        self._leave()
        self._begin()

    def _begin(self) -> None:
        if self._scope.disposed:
            return
        self._begun = True
        self._floor = Floor()
        self._voice.begin()
        self._tell("reset", at=0, generation=1)
        self._show_emotion(None)

    def delta(self, text: str) -> None:
        """Add text to the reply; the first one begins the first reply.

        Raises UsageError after `final()`: the next reply begins with `begin()`.
        """
        if not self._begun:
            self._begin()
        if self._scope.disposed:
            return
        if self._voice.reading.cutter.final:
            raise UsageError(
                f"delta({text[:20]!r}): the reply is final; begin() begins the next one, reset(at) has this one "
                "written anew"
            )
        self._floor.count(text, now_ms())
        self._voice.delta(text)

    def unit_end(self, at: int) -> None:
        """A tool call begins at code point `at`: the text before it is settled and can be spoken."""
        if not self._scope.disposed:
            self._voice.unit_end(at)

    def reset(self, at: int = 0) -> None:
        """The reply is written anew from code point `at`; what sounds of the rest is silent now.

        Raises UsageError beyond the reply's end.
        """
        if not self._scope.disposed:
            self._voice.reset(at)
            self._tell("reset", at=at, generation=self._voice.reading.conductor.generation)

    def final(self) -> None:
        """The reply is whole: what remains of it is the last unit."""
        if not self._scope.disposed:
            self._voice.final()

    async def read(self, response_js: Any, protocol: str) -> dict[str, Any]:
        """Speak the reply in the body of a fetch Response, whichever protocol it speaks (`onetake.streams`).

        It is a new reply, unless the response before it left one unfinished: then it goes on with that, as after a
        tool that the page runs. Returns, when the body has ended or somebody else has taken over, whether the reply
        has `ended`, whether the model is `awaiting` the page's next request, and the `last_event_id` to send for
        the rest of a stream that broke off. Raises UsageError for an unknown protocol.
        """
        if self._scope.disposed:
            return _outcome(None)
        adapter = self._turn.adapter if self._turn is not None and self._turn.goes_on(protocol) else None
        if adapter is None:
            adapter = open_adapter(protocol)
            self._leave()
            self._begin()
        turn = self._turn = _Turn(protocol, adapter, self._scope.child())
        work = turn.scope.spawn(self._take_in(turn, response_js))
        await asyncio.wait([work])
        turn.scope.dispose()
        if work.cancelled():
            return _outcome(None)
        work.result()
        return _outcome(adapter)

    async def _take_in(self, turn: _Turn, response_js: Any) -> None:
        async with aclosing(read(response_js, turn.adapter)) as events:
            async for event in events:
                self._on_reply(event)
        turn.broke_off = True

    def _on_reply(self, event: Event) -> None:
        match event:
            case Delta(text):
                self._floor.count(text, now_ms())
                self._voice.delta(text)
            case UnitEnd(at):
                self.unit_end(at)
            case Reset(at):
                self.reset(at)
            case Final():
                self.final()
            case Stopped():
                self._voice.stop()
            case Failed(code, message):
                self._voice.fail(code, message)
                self._tell("error", code=code, message=message, unit=None)

    def _leave(self) -> None:
        """Read no further; the connection is closed."""
        if self._turn is not None:
            self._turn.scope.dispose()
            self._turn = None

    # -- the listener --------------------------------------------------------------------------

    def stop(self) -> None:
        """Barge-in: silent now, nothing more of this reply, and no more is read of it."""
        self._leave()
        self._voice.stop()

    def pause(self) -> None:
        """Hold the sound; `resume()` goes on at the same sample."""
        self._voice.pause()

    def resume(self) -> None:
        """Go on after `pause()`, or after the system or a lost device paused the voice."""
        self._voice.resume()

    def skip(self) -> None:
        """Leave the unit that sounds, or is next to, and go on with the one after it."""
        self._voice.skip()

    def replay(self, unit: int | None = None) -> None:
        """Sound a unit again from its start; without a number, the one that sounds or was the last to.

        Raises UsageError if there is no such unit, or its audio is not here.
        """
        self._voice.replay(unit)

    def set_volume(self, volume: float) -> None:
        """From 0 to 1; raises UsageError for anything else."""
        self._voice.set_volume(volume)

    def mute(self, on: bool = True) -> None:
        """Silence the output while the voice goes on, or bring it back."""
        self._voice.mute(on)

    def set_speed(self, speed: float) -> None:
        """Speak at `speed` times the usual pace, from the next unit on. Raises UsageError where the voice cannot."""
        self._voice.set_speed(speed)

    async def set_output_device(self, device: str) -> None:
        """Play on the device of that id, "" for the usual one. Voices of one sample rate share it.

        Raises UsageError where the browser has no such device, or cannot choose one.
        """
        await self._voice.set_output_device(device)

    # -- what is to be seen --------------------------------------------------------------------

    @property
    def state(self) -> str:
        """What the voice does: one of the states of design 10."""
        return self._voice.state

    @property
    def heard(self) -> int:
        """Up to which code point the reply has been heard by now."""
        return self._voice.heard

    def inspect(self, boot: dict[str, Any] | None = None, anonymous: bool = False) -> dict[str, Any]:
        """A snapshot as plain data, free of side effects; its fields are in the README. `boot` is of JavaScript's."""
        known = boot or {"ready_ms": self._made_ms, "from_snapshot": False, "snapshot_failures": [], "phases": {}}
        return snapshot(self._voice, self._scope, self._floor, known, anonymous)

    def trace(self, anonymous: bool = False) -> str:
        """All that happened as JSON Lines, for `onetake replay`; `anonymous` masks every word."""
        return self._voice.trace.text(anonymous)

    def dispose(self) -> None:
        """The end: silent now, everything given back, and nothing is told any more."""
        for handlers in self._handlers.values():
            handlers.clear()
        self._leave()
        self._voice.dispose()
        self._scope.dispose()

    # -- what it tells -------------------------------------------------------------------------

    def _on_change(self) -> None:
        now = (self._voice.state, self._voice.reading.conductor.stopped)
        if now != self._told_state:
            self._told_state = now
            self._tell("state", state=now[0], stopped=now[1])

    def _on_unit(self, unit: Unit, change: UnitChanged) -> None:
        if change.state == "playing":
            self._show_emotion(unit.emotion)
        stretch = self._voice.reading.cutter.slice(unit.start, unit.end)
        pieces = [
            {"kind": piece.kind, "text": piece.text, "start": unit.start + piece.start}
            for piece in shown(stretch)
            if piece.kind != "card"
        ]
        self._tell(
            "unit",
            generation=unit.generation,
            index=unit.index,
            start=unit.start,
            end=unit.end,
            text=unit.text,
            emotion=unit.emotion,
            state=change.state,
            pieces=pieces,
        )
        if change.state == "failed":
            self._tell("error", code=change.code, message=change.message, unit=unit.index)

    def _show_emotion(self, emotion: str | None) -> None:
        if emotion != self._emotion:
            self._emotion = emotion
            self._tell("emotion", emotion=emotion)

    def _tell(self, event: str, **detail: Any) -> None:
        """A handler that fails keeps neither the others from being told nor the voice from speaking."""
        for handler in list(self._handlers[event]):
            try:
                handler(detail)
            except Exception as error:
                context = {"message": f"a handler of {event!r} failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)


class _Turn:
    """What is being read: one reply, of which this is the newest response."""

    def __init__(self, protocol: str, adapter: Adapter, scope: Scope) -> None:
        self.protocol = protocol
        self.adapter = adapter
        self.scope = scope
        #: The response has ended by itself.
        self.broke_off = False

    def goes_on(self, protocol: str) -> bool:
        """Whether the next response, in that protocol, is a further part of the same reply."""
        return self.broke_off and not self.adapter.ended and protocol == self.protocol


def _outcome(adapter: Adapter | None) -> dict[str, Any]:
    """What `read` returns; without an adapter somebody else has taken over, and no more is wanted of this reply."""
    if adapter is None:
        return {"ended": True, "awaiting": False, "last_event_id": None}
    return {"ended": adapter.ended, "awaiting": adapter.awaiting, "last_event_id": adapter.last_event_id}
