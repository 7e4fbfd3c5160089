"""The adapter for Ollama's `/api/chat`: NDJSON. Not resumable.

Source: ollama 0.6.3, `_types.py` and `_client.py`. Tools are run by the client: after a line with `tool_calls`
the turn goes on in the next request, whatever `done_reason` says. Models may write their thoughts inline.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.json_adapter import Decoder, JsonAdapter, called
from onetake.streams.lines import LineDecoder


class OllamaChatAdapter(JsonAdapter):
    """Reads all responses of a turn; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__(thoughts=True)
        self._called = False

    def _decoder_for_response(self) -> Decoder:
        return LineDecoder()

    def _on_next_response(self) -> None:
        super()._on_next_response()
        self._called = False

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"error": message}:
                self._turn.fail("model_error", message)
                return
            case {"message": dict(message)}:
                self._turn.say(message.get("content") or "")
                if called(message.get("tool_calls")):
                    self._called = True
                    self._turn.end_unit()
        match record:
            case {"done": True} if self._called:
                self._turn.awaiting = True
            case {"done": True, **rest}:
                self._turn.finish("truncated" if rest.get("done_reason") == "length" else "complete")
