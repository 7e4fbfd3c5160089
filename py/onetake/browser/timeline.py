"""How a reply was spoken, to be unfolded under it: when what happened to each unit, and what its sound looks like.

    timeline = Timeline(log_js)
    timeline.show(voice.reading, floor, 2)      # whenever something has become of unit 2
    timeline.show(voice.reading, floor)         # or of any
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from onetake.browser.elements import element
from onetake.browser.ffi import js_array, web
from onetake.browser.inspection import Floor, Times
from onetake.browser.spoken_reply import SpokenReply
from onetake.browser.words import label, say

PHASES = ("waiting", "writing", "first_byte", "first_sound", "playing")


def phases(times: Times, floor: Floor, before: Times | None) -> list[float | None]:
    """Milliseconds of each of `PHASES`; None for what has not happened (yet). `before`: the times of the unit before.

    Waiting is for the model's first words, and for a turn to be synthesised. Writing goes from there, or from the
    end of the unit before, to the unit's end, tools included. The first sound also waits for the unit before.
    """
    begun = floor.first_delta if before is None else before.closed
    marks = [begun, times.closed, times.requested, times.first_byte, times.first_sound, times.ended]
    lasted = [_between(start, end) for start, end in pairwise(marks)]
    writing, queued, *rest = lasted
    model = _between(floor.sent, begun) if before is None else 0.0
    waiting = None if model is None or queued is None else model + queued
    return [waiting, writing, *rest]


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else max(0.0, end - start)


class Timeline:
    """A folded table, hidden until there is something to tell."""

    def __init__(self, log_js: Any) -> None:
        summary_js = element("summary")
        label(summary_js, "timeline")
        head = [_heading(key) for key in ("part", *PHASES, "sound")]
        self._rows_js = element("tbody")
        self._floor_js = element("p")
        table_js = element("table", "", element("thead", "", element("tr", "", *head)), self._rows_js)
        self._details_js = element("details", "timeline", summary_js, element("div", "", table_js, self._floor_js))
        self._details_js.hidden = True
        self._drawn: dict[int, Any] = {}  # the row of each unit
        self._peaks: dict[int, Any] = {}
        log_js.append(self._details_js)

    def clear(self) -> None:
        """The reply is written, or read, anew."""
        self._peaks.clear()
        self._drawn.clear()
        self._rows_js.replaceChildren()
        self._details_js.hidden = True

    def show(self, reading: SpokenReply, floor: Floor, changed: int | None = None) -> None:
        """Tell what is known by now of `reading`; of what stands there only unit `changed` is drawn anew, or all."""
        self._details_js.hidden = not reading.times
        for unit in sorted(reading.times):
            if unit not in self._drawn:
                self._drawn[unit] = self._row(reading, floor, unit)
                self._rows_js.append(self._drawn[unit])
            elif changed in (None, unit):
                row_js = self._row(reading, floor, unit)
                self._drawn[unit].replaceWith(row_js)
                self._drawn[unit] = row_js
        self._floor_js.textContent = self._floor(floor)

    def _row(self, reading: SpokenReply, floor: Floor, unit: int) -> Any:
        lasted = phases(reading.times[unit], floor, reading.times.get(unit - 1))
        number_js = element("th", "", str(unit + 1))
        number_js.scope = "row"
        cells = [element("td", f"phase {key}", _seconds(ms)) for key, ms in zip(PHASES, lasted, strict=True)]
        return element("tr", "", number_js, *cells, element("td", "sound", *self._sound(reading, unit), _bar(lasted)))

    def _sound(self, reading: SpokenReply, unit: int) -> list[Any]:
        if unit not in self._peaks and unit < len(reading.conductor.entries):
            asked = reading.conductor.entries[unit].asked
            take = reading.takes.get(asked) if asked is not None else None
            if take is not None and take.complete and take.blocks_js:
                self._peaks[unit] = web().peaks(js_array(take.blocks_js))
        return [web().waveform(self._peaks[unit])] if unit in self._peaks else []

    def _floor(self, floor: Floor) -> str:
        speed = floor.snapshot()["chars_per_second"]
        first = _between(floor.sent, floor.first_delta)
        if speed is None or first is None:
            return ""
        return say("timeline.floor", first=f"{first / 1000:.2f}", speed=f"{speed:.0f}")


def _heading(key: str) -> Any:
    cell_js = element("th", f"phase {key}" if key in PHASES else key)
    cell_js.scope = "col"
    label(cell_js, f"timeline.{key}")
    return cell_js


def _seconds(ms: float | None) -> str:
    return "–" if ms is None else say("timeline.seconds", value=f"{ms / 1000:.2f}")


def _bar(lasted: list[float | None]) -> Any:
    """The same as lengths, for the eye only."""
    bar_js = element("div", "bar")
    bar_js.setAttribute("aria-hidden", "true")
    for key, ms in zip(PHASES, lasted, strict=True):
        if ms:
            part_js = element("i", key)
            part_js.style.flexGrow = str(ms)
            bar_js.append(part_js)
    return bar_js
