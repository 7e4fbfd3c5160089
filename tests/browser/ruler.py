"""Runs in the page: a Voice that speaks with the ruler voice (ruler.js), and what was heard of it.

    async with Stage() as stage:
        stage.plan("One.", take=1, frames=4800)
        stage.say("One.")
        await stage.until("idle")
    assert await stage.pieces() == [[1, 0, 4800, …]]
"""

from __future__ import annotations

import asyncio
import json

import js
from pyodide.ffi import to_js

from onetake.browser.inspection import Floor, snapshot
from onetake.browser.scope import Scope
from onetake.browser.voice import Voice

RATE = 24000
#: One render quantum and a ramp of 10 ms (design 5), in frames.
SILENT_AFTER = 128 + RATE // 100


class Stage:
    """One voice on the module's AudioContext. Leaving it disposes of the voice, after which nothing may be held."""

    def __init__(self, url="/ruler", **options):
        self.ruler = js.ruler
        self.ruler.clear()
        self.context = self.ruler.context
        self.scope = Scope()
        self.units = []  # (index, state, code) of every change
        self.heard = []
        self.changed = asyncio.Event()
        self.voice = Voice(
            self.scope,
            lambda: self.context,
            speech_url=url,
            voice=None,
            concurrency=2,
            audio_tags=True,
            on_change=self.changed.set,
            on_unit=lambda unit, change: self.units.append([unit.index, change.state, change.code]),
            on_heard=self.heard.append,
            **options,
        )

    async def __aenter__(self):
        self.voice.begin()
        return self

    async def __aexit__(self, *failure):
        self.voice.dispose()
        self.scope.dispose()
        await self.context.resume()
        if failure[0] is None:
            assert +self.scope.live == {}, self.scope.live

    def plan(self, text, **plan):
        """How the ruler voice answers `text` (see ruler.js)."""
        self.ruler.plan(text, to_js(plan, dict_converter=js.Object.fromEntries))

    def say(self, *units, final=True):
        """Write the next units of the reply: each ends where its text does."""
        for text in units:
            self.voice.delta(text)
            self.voice.unit_end(self.voice.reading.cutter.length)
        if final:
            self.voice.final()

    def inspect(self):
        return json.loads(json.dumps(snapshot(self.voice, self.scope, Floor(), {})))

    def live(self):
        """What the voice holds, by kind."""
        return {name: count for name, count in self.inspect()["counts"].items() if name.startswith("live_")}

    async def until(self, condition):
        """Wait for a state of the voice, or for a condition, which is looked at after every change."""
        while not (condition() if callable(condition) else self.voice.state == condition):
            self.changed.clear()
            await self.changed.wait()

    async def until_playing(self, unit=0, seconds=0.0):
        """Wait until so much of a unit has been heard."""
        units = self.voice.reading.conductor.entries

        def playing():
            assert len(units) <= unit or not units[unit].ended, f"it ended unseen: {self.inspect()}"
            return len(units) > unit and units[unit].state == "playing" and units[unit].played_s >= seconds

        await self.until(playing)

    async def until_asked(self, text):
        """Wait until the speech server has the request."""
        await self.ruler.reached(text)

    async def advance(self, seconds):
        """Let so much of the audio clock pass and be recorded."""
        await self.ruler.advance(seconds)

    def frame(self):
        return int(self.ruler.frame())

    def ear(self):
        """The frame of the clock that has come out of the device."""
        return self.frame() - self.context.outputLatency * RATE

    async def pieces(self):
        """Everything that has sounded up to now, by piece; see ruler.js."""
        await self.advance(0.05)
        return self.ruler.pieces().to_py()
