"""The adapter for our own reply stream (design section 6), which can be resumed.

It lets each event through once: numbers already seen (a replay after reconnecting) and events of a generation
that is not the current one are dropped, and after the end only a `reset` opens the reply again.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.events import Delta, Event, Failed, Final, Reset, Start, Stopped, Tool, UnitEnd
from onetake.streams.json_text import parse
from onetake.streams.sse import EVENT_LIMIT, ServerSentEvent, SseDecoder
from onetake.streams.turn import whole


class OnetakeAdapter:
    """Reads one reply over any number of connections; see `onetake.streams.Adapter`.

    The end of a response is never the end of the reply here: `end_response` yields nothing, and while `ended`
    is false the rest is to be fetched with `last_event_id`. Whoever gives up on that says so itself.
    """

    def __init__(self) -> None:
        self._decoder = SseDecoder()
        self._last_id = 0
        self._generation = 0
        self._length = 0
        self._ended = False

    @property
    def ended(self) -> bool:
        return self._ended

    @property
    def awaiting(self) -> bool:
        return False

    @property
    def last_event_id(self) -> str:
        return str(self._last_id)

    def feed(self, data: bytes) -> list[Event]:
        events = [event for each in self._decoder.feed(data) for event in self._read(each)]
        if self._decoder.too_long:
            events += self._fail("event_too_long", f"An event has more than {EVENT_LIMIT} characters.")
        return events

    def end_response(self) -> list[Event]:
        self._decoder = SseDecoder()
        return []

    def _read(self, received: ServerSentEvent) -> list[Event]:
        try:
            number = int(received.id or "")
            payload = parse(received.data)
            generation = _integer(payload, "generation")
            event = _parse(received.event, payload, generation)
        except (ValueError, TypeError, KeyError):
            return self._fail("malformed_event", f"The event {received.event[:40]!r} cannot be read.")
        if number <= self._last_id:
            return []
        if isinstance(event, Reset):
            current = generation > self._generation
        else:
            current = generation == (self._generation or generation) and not self._ended
            if current and number > self._last_id + 1:
                return self._fail("events_lost", f"Event {number} came after {self._last_id}.")
        self._last_id = number
        if not current:
            return []
        if isinstance(event, Reset):
            if event.at > self._length:
                return self._fail("malformed_event", f"A reset goes to {event.at}, beyond the text.")
            self._length = event.at
        elif isinstance(event, Delta):
            self._length += len(event.text)
        self._generation = generation
        self._ended = isinstance(event, Final | Stopped | Failed)
        return [] if event is None else [event]

    def _fail(self, code: str, message: str) -> list[Event]:
        if self._ended:
            return []
        self._ended = True
        return [Failed(code, message, retryable=True)]


def _parse(name: str, payload: Any, generation: int) -> Event | None:
    """The event of that name; `None` for a name that a newer server may send. Raises if the payload does not
    fit."""
    match name:
        case "start":
            return Start(_string(payload, "reply"), _string(payload, "conversation"), generation)
        case "delta":
            return Delta(whole(_string(payload, "text")))
        case "unit_end":
            return UnitEnd(_integer(payload, "at"))
        case "tool":
            call, tool, phase = (_string(payload, name) for name in ("id", "name", "phase"))
            return Tool(call, tool, phase, _integer(payload, "at"), payload.get("outcome") == "failed")
        case "reset":
            return Reset(_integer(payload, "at"), generation)
        case "final":
            return Final()
        case "stopped":
            return Stopped(_integer(payload, "length"))
        case "error":
            retryable = payload["retryable"] is True
            return Failed(_string(payload, "code"), _string(payload, "message"), retryable)
        case _:
            return None


def _string(payload: Any, name: str) -> str:
    value = payload[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _integer(payload: Any, name: str) -> int:
    value = payload[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(name)
    return value
