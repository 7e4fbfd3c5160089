"""What the browser's developer tools show of a voice: a track for each unit's life, and a line for each change.

    devtools = DevTools()                           # one for each voice
    devtools.note(reading, event, effects)          # whatever its conductor does
    devtools.show(voice.state)

A unit's life is drawn in the Performance panel when it ends, one entry for each phase. Nothing piles up: each entry is
taken out of the page's own performance timeline at once, when the panel, if it records, and every PerformanceObserver
have it already. Lines go to the console at level debug while `localStorage.onetakeDebug` is set. Neither holds a word
of the conversation, so that a saved profile can be given away; only an error's message stands in its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from onetake.browser.ffi import js_object, now_ms, window
from onetake.cues import Effect, Event, UnitChanged, UnitClosed
from onetake.life import ENDS, UnitState
from onetake.masks import mask_code

if TYPE_CHECKING:
    from onetake.browser.inspection import Times
    from onetake.browser.spoken_reply import SpokenReply
    from onetake.units import Unit

#: Colours the panel has names for, by phase. A phase that ended in a failure has the panel's `error`.
COLOURS = {"queued": "secondary-light", "synthesising": "tertiary", "ready": "tertiary-light", "playing": "primary"}

_voices = count(1)


@dataclass(slots=True)
class Life:
    """One unit, from its closing, or from when it was called back for a replay, to its end."""

    unit: Unit
    times: Times
    generation: int
    state: UnitState | None = None
    since_ms: float = 0.0
    #: The states it has been in and when each began.
    marks: list[tuple[UnitState, float]] = field(default_factory=list)
    sounded: bool = False

    @property
    def name(self) -> str:
        return f"g{self.generation} u{self.unit.index}"

    @property
    def range(self) -> str:
        return f"[{self.unit.start},{self.unit.end})"

    def turn(self, state: UnitState, at_ms: float) -> None:
        """It is in that state from now on."""
        if self.state in ENDS:
            self.marks.clear()
        self.state = state
        self.since_ms = at_ms
        if state is UnitState.PLAYING and not self.sounded:
            self.sounded = True
            at_ms = min(at_ms, self.times.first_sound or at_ms)  # when it was, not when it was noticed
        self.marks.append((state, at_ms))

    def phases(self) -> Iterator[tuple[str, float, float]]:
        """Name, start and end in milliseconds of each phase of a life that has ended.

        Named for the states, but that `synthesising` ends with the first byte; a unit that waits from there for its
        first sound, or for the end of the unit before, is `ready`.
        """
        for (state, start_ms), (_, end_ms) in pairwise(self.marks):
            byte_ms = self.times.first_byte
            if state is UnitState.SYNTHESISING and byte_ms is not None and start_ms <= byte_ms <= end_ms:
                yield "synthesising", start_ms, byte_ms
                yield "ready", byte_ms, end_ms
            else:
                yield state.value, start_ms, end_ms


class DevTools:
    """Follows one voice. The first of the page is called `onetake`, those made after it `onetake#2`, `onetake#3`, …."""

    def __init__(self) -> None:
        number = next(_voices)
        suffix = f"#{number}" if number > 1 else ""
        self._name = f"onetake{suffix}"
        self._group = f"Onetake{suffix}"
        self._state = "idle"
        self._since_ms = now_ms()

    def note(self, reading: SpokenReply, event: Event, effects: list[Effect]) -> None:
        """The conductor of `reading` has made these effects of `event`."""
        if isinstance(event, UnitClosed) and effects:  # otherwise it was stale
            index = event.unit.index
            reading.lives[index] = Life(event.unit, reading.times[index], event.unit.generation)
        for effect in effects:
            if isinstance(effect, UnitChanged):
                self._change(reading.lives[effect.unit], effect)

    def show(self, state: str) -> None:
        """The voice is in that state now."""
        if state == self._state:
            return
        now = now_ms()
        _debug(f"{self._name} {self._state} → {state}", now - self._since_ms)
        self._state, self._since_ms = state, now

    def _change(self, life: Life, change: UnitChanged) -> None:
        now = now_ms()
        state = UnitState(change.state)
        life.generation = change.generation
        went = state.value if life.state in (None, state) else f"{life.state} → {state}"
        failed = f" {change.code}: {change.message}" if change.code else ""
        _debug(f"{self._name} {life.name} {life.range} {went}", now - (life.since_ms or now), failed)
        if state is life.state:
            return  # only its error became known
        life.turn(state, now)
        if state in ENDS:
            self._draw(life, change)

    def _draw(self, life: Life, change: UnitChanged) -> None:
        phases = list(life.phases())
        for place, (phase, start_ms, end_ms) in enumerate(phases):
            failed = change.state == "failed" and place == len(phases) - 1
            code = [["error", mask_code(change.code)]] if change.code else []
            entry = {
                "dataType": "track-entry",
                "track": life.name,
                "trackGroup": self._group,
                "color": "error" if failed else COLOURS[phase],
                "tooltipText": f"{phase}: unit {life.unit.index} {life.range} of generation {life.generation}",
                "properties": [["range", life.range], ["end", change.state], *code],
            }
            _measure(f"{self._name} {life.name} {phase}", start_ms, end_ms, entry)


def _measure(name: str, start_ms: float, end_ms: float, entry: dict[str, Any]) -> None:
    """An entry on a track of its own; see developer.chrome.com/docs/devtools/performance/extension."""
    performance_js = window().performance
    performance_js.measure(name, js_object({"start": start_ms, "end": end_ms, "detail": {"devtools": entry}}))
    performance_js.clearMeasures(name)


def _debug(line: str, after_ms: float, more: str = "") -> None:
    if _wanted():
        window().console.debug(f"{line} +{after_ms:.0f} ms{more}")


def _wanted() -> bool:
    """Asked each time, so that it can be set while the page runs."""
    from pyodide.ffi import JsException

    try:
        return bool(window().localStorage.getItem("onetakeDebug"))
    except JsException:  # a page that may not store anything cannot have set it
        return False
