"""Server-sent events, decoded incrementally from bytes as the HTML standard says (section 9.2.6).

    decoder = SseDecoder()
    decoder.feed(b"event: delta\\ndata: {")        # []
    decoder.feed(b"}\\n\\n")                        # [ServerSentEvent("delta", "{}", None, None)]

Lines end at CRLF, LF or CR and nowhere else: U+2028, U+0085 and their kind may stand inside JSON. An event
that no blank line closed is dropped, because half an event is worse than none. Used by the adapters of
`onetake.streams`.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

EVENT_LIMIT = 4 * 1024 * 1024
"""Characters that one event may have before its end is seen; memory stays within a small multiple of this."""

_LINE_END = re.compile("\r\n|\n|\r")
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

    `too_long` turns true when an event goes over EVENT_LIMIT; from there on nothing more is decoded.
    """

    def __init__(self) -> None:
        self.too_long = False
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._skip_line_feed = False
        self._line: list[str] = []
        self._line_length = 0
        self._event = ""
        self._data: list[str] = []
        self._data_length = 0
        self._id: str | None = None
        self._retry: int | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that these bytes complete."""
        text = self._utf8.decode(data)
        if not text or self.too_long:
            return []
        if self._skip_line_feed and text[0] == "\n":  # the other half of a CRLF
            text = text[1:]
        self._skip_line_feed = text.endswith("\r")
        *ends, rest = _LINE_END.split(text)
        events: list[ServerSentEvent] = []
        for end in ends:
            if not self._hold(end):
                return events
            line = "".join(self._line)
            self._line, self._line_length = [], 0
            if line:
                self._read(line)
            else:
                events += self._dispatch()
        self._hold(rest)
        return events

    def _hold(self, piece: str) -> bool:
        """Add to the line that is being read; false if the event has become too long for that."""
        self._line_length += len(piece)
        self.too_long = self._line_length + self._data_length > EVENT_LIMIT
        if self.too_long:
            self._line, self._data = [], []
        elif piece:
            self._line.append(piece)
        return not self.too_long

    def _read(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
                self._data_length += len(line)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if _MILLISECONDS.fullmatch(value):
                self._retry = int(value)

    def _dispatch(self) -> list[ServerSentEvent]:
        event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._id, self._retry)
        empty = not self._data
        self._event, self._data, self._data_length, self._id, self._retry = "", [], 0, None, None
        return [] if empty else [event]
