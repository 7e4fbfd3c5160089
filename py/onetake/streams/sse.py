"""Server-sent events, decoded incrementally from bytes as the HTML standard says (section 9.2.6).

    decoder = SseDecoder()
    decoder.feed(b"event: delta\\ndata: {")        # []
    decoder.feed(b"}\\n\\n")                        # [ServerSentEvent("delta", "{}", None, None)]

Used by the adapters of `onetake.streams`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from onetake.streams.lines import LineDecoder

EVENT_LIMIT = 4 * 1024 * 1024
"""Characters of data that one event may have; memory stays within a small multiple of this."""

_MILLISECONDS = re.compile("[0-9]{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. `event` is `"message"` where the stream names none; `id` and `retry` (milliseconds) are
    those given with this very event, else `None`."""

    event: str
    data: str
    id: str | None
    retry: int | None


class SseDecoder:
    """Decodes one response body; the state ends with it. Bytes that are not UTF-8 become U+FFFD.

    `too_long` turns true when a line or an event goes over its limit; from there on nothing more is decoded.
    """

    def __init__(self) -> None:
        self.too_long = False
        self._lines = LineDecoder()
        self._event = ""
        self._data: list[str] = []
        self._data_length = 0
        self._id: str | None = None
        self._retry: int | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that these bytes complete. One that no blank line closed is never among them."""
        return self._read(self._lines.feed(data))

    def close(self) -> list[ServerSentEvent]:
        """The event that the end of the body left open. It may be half an event: the standard drops it, but
        some servers leave out the last blank line."""
        return self._read([*self._lines.close(), ""])

    def _read(self, lines: list[str]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        for line in lines:
            if self.too_long:
                return events
            if line:
                self._read_field(line)
            else:
                events += self._dispatch()
        self.too_long = self.too_long or self._lines.too_long
        return events

    def _read_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
                self._data_length += len(line)
                self.too_long = self._data_length > EVENT_LIMIT
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if _MILLISECONDS.fullmatch(value):
                self._retry = int(value)

    def _dispatch(self) -> list[ServerSentEvent]:
        event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._id, self._retry)
        empty = not self._data
        self._event, self._data, self._data_length, self._id, self._retry = "", [], 0, None, None
        return [] if empty else [event]
