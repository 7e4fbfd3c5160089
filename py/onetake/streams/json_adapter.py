"""What the adapters of other people's protocols share: framing, JSON, and what counts as failure.

A subclass says how a body is framed (`_decoder_for_response`) and what one record means (`_read`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from onetake.streams.events import Event
from onetake.streams.json_text import parse
from onetake.streams.sse import ServerSentEvent, SseDecoder
from onetake.streams.turn import Turn


class Decoder(Protocol):
    """Splits the bytes of one response into records."""

    @property
    def too_long(self) -> bool:
        """Whether a record was longer than it may be, and nothing more is decoded."""

    def feed(self, data: bytes) -> Sequence[ServerSentEvent | str]:
        """The records that these bytes complete."""

    def close(self) -> Sequence[ServerSentEvent | str]:
        """What the end of the body left open; it may be half a record."""


class JsonAdapter:
    """Reads one turn whose records are JSON; see `onetake.streams.Adapter`.

    JSON that cannot be read fails the turn, since text may be missing. Records of unknown kinds are passed
    over, as every protocol here asks.
    """

    def __init__(self, *, thoughts: bool = False) -> None:
        self._turn = Turn(thoughts=thoughts)
        self._decoder = self._decoder_for_response()
        self._last_id: str | None = None
        self._between_responses = False

    @property
    def ended(self) -> bool:
        return self._turn.ended

    @property
    def awaiting(self) -> bool:
        return self._turn.awaiting

    @property
    def last_event_id(self) -> str | None:
        return self._last_id if self._resumable else None

    def feed(self, data: bytes) -> list[Event]:
        if data:
            self._begin_response()
        for record in self._decoder.feed(data):
            self._receive(record)
        if self._decoder.too_long:
            self._turn.fail("event_too_long", "An event of the stream is longer than any can be.")
        return self._turn.take_events()

    def end_response(self) -> list[Event]:
        self._begin_response()
        for record in self._decoder.close():
            if not self._resumable:  # else it comes again, and whole
                self._receive(record, cut=True)
        self._decoder = self._decoder_for_response()
        self._between_responses = True
        if not (self.ended or self.awaiting or self._resumable):
            message = "The stream ended before the reply did."
            self._turn.fail("connection_lost", message, retryable=True)
        return self._turn.take_events()

    def _begin_response(self) -> None:
        if self._between_responses:
            self._between_responses = False
            self._on_next_response()

    def _receive(self, record: ServerSentEvent | str, *, cut: bool = False) -> None:
        if isinstance(record, str):
            record = ServerSentEvent("", record, None, None)
        if self.ended:
            return
        data = record.data
        try:
            # What some protocols send last is no JSON, and an event may have a name only.
            self._read("[DONE]" if data.startswith("[DONE]") else parse(data or "null"), record.event)
            self._last_id = record.id or self._last_id
        except ValueError:
            if not cut:
                self._turn.fail("malformed_event", f"An event of the stream cannot be read: {data[:80]!r}")

    # -- what a protocol may have its own way ---------------------------------------------------

    @property
    def _resumable(self) -> bool:
        """Whether the stream can be opened again to get the rest, so that its loss is not the end."""
        return False

    def _decoder_for_response(self) -> Decoder:
        return SseDecoder()

    def _on_next_response(self) -> None:
        """A response after the first one begins."""
        self._turn.proceed()

    def _read(self, record: Any, event: str) -> None:
        """Take in one record: its JSON (`"[DONE]"` for that mark), and the name of its server-sent event."""
        raise NotImplementedError


def texts(content: object) -> list[str]:
    """The texts of a message's content: a string, or parts some of which are text."""
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text" | "output_text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
                found.append(text)
    return found


def called(calls: object) -> bool:
    """Whether a list of tool calls, or of pieces of them, holds the first sign of one: its name or its id."""
    return isinstance(calls, list) and any(
        isinstance(call, dict) and (call.get("id") or call.get("name") or _function_name(call)) for call in calls
    )


def _function_name(call: dict[str, Any]) -> bool:
    function = call.get("function")
    return isinstance(function, dict) and bool(function.get("name"))
