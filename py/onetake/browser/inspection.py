"""What `window.onetake.inspect()` returns: plain data, documented in the README, free of side effects."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from onetake.masks import mask, mask_code

if TYPE_CHECKING:
    from onetake.browser.scope import Scope
    from onetake.browser.spoken_reply import SpokenReply
    from onetake.browser.voice import Voice
    from onetake.life import Entry


@dataclass(slots=True)
class Times:
    """When what happened to a unit, in milliseconds on `performance.now()`; None: not yet, or never."""

    closed: float | None = None
    requested: float | None = None
    first_byte: float | None = None
    first_sound: float | None = None
    ended: float | None = None


@dataclass(slots=True)
class Floor:
    """When the message was sent and how fast the model writes."""

    sent: float | None = None
    first_delta: float | None = None
    last_delta: float | None = None
    characters: int = 0

    def count(self, text: str, now_ms: float) -> None:
        """Take note of text that has just come."""
        self.first_delta = self.first_delta or now_ms
        self.last_delta = now_ms
        self.characters += len(text)

    def snapshot(self) -> dict[str, Any]:
        """`characters_per_second` counts from the first delta to the last; None while there is only one."""
        speed = None
        if self.first_delta is not None and self.last_delta is not None and self.last_delta > self.first_delta:
            speed = self.characters / (self.last_delta - self.first_delta) * 1000
        return {"sent": self.sent, "first_delta": self.first_delta, "chars_per_second": speed}


def snapshot(
    voice: Voice, scope: Scope, floor: Floor, boot: dict[str, Any], anonymous: bool = False
) -> dict[str, Any]:
    """The whole state as JSON-ready data (design 10); `anonymous` masks every word of the conversation."""
    reading = voice.reading
    conductor = reading.conductor
    units = [_unit(entry, reading, voice) for entry in conductor.entries]
    return {
        "version": _version(),
        "generation": conductor.generation,
        "state": voice.state,
        "cursor": reading.cutter.cursor,
        "length": reading.cutter.length,
        "final": reading.cutter.final,
        "heard": conductor.heard,
        "units": [_masked(unit) if anonymous else unit for unit in units],
        "counts": {
            "syntheses": voice.past_syntheses + conductor.syntheses,
            "stale_dropped": voice.past_stale_dropped + conductor.stale_dropped,
            "underruns": voice.player.underruns if voice.player is not None else 0,
            "errors": voice.errors,
            "live_proxies": scope.live["proxy"],
            "live_nodes": scope.live["node"],
            "live_buffers": sum(len(take.blocks_js) for take in reading.takes.values()),
            "live_listeners": scope.live["listener"],
            "live_timers": scope.live["timer"],
            "live_fetches": scope.live["fetch"],
        },
        "audio": _audio(voice.context_js),
        "boot": boot,
        "floor": floor.snapshot(),
    }


@cache  # it reads a file
def _version() -> str:
    from importlib.metadata import version  # a tenth of the time that importing the package takes when a page wakes

    return version("onetake")


def _audio(context_js: Any) -> dict[str, Any]:
    """Latencies in seconds; None before the first reply, and where the browser does not tell."""
    return {
        "state": getattr(context_js, "state", None),
        "sample_rate": getattr(context_js, "sampleRate", None),
        "base_latency": getattr(context_js, "baseLatency", None),
        "output_latency": getattr(context_js, "outputLatency", None),
    }


def _unit(entry: Entry, reading: SpokenReply, voice: Voice) -> dict[str, Any]:
    take = reading.takes.get(entry.asked) if entry.asked is not None else None
    unit = entry.unit
    rate = take.rate if take is not None else 0
    return {
        "generation": unit.generation,
        "index": unit.index,
        "start": unit.start,
        "end": unit.end,
        "text": unit.text,
        "emotion": unit.emotion,
        "state": entry.state.value,
        "requests": int(entry.asked is not None),
        "frames_received": take.frames if take is not None else 0,
        "frames_played": round(entry.played_s * rate),
        "rate": rate,
        "heard": entry.heard_at,
        "error": dict(zip(("code", "message"), entry.error, strict=True)) if entry.error else None,
        "times": asdict(reading.times[unit.index]),
    }


def _masked(unit: dict[str, Any]) -> dict[str, Any]:
    error = unit["error"]
    return {
        **unit,
        "text": mask(unit["text"]),
        "emotion": unit["emotion"] and mask(unit["emotion"]),
        "error": error and {"code": mask_code(error["code"]), "message": mask(error["message"])},
    }
