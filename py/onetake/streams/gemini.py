"""The adapter for Gemini's `streamGenerateContent`, as SSE or as one growing JSON array. Not resumable.

Source: google-genai 3.6.1, `types.py` and `_api_client.py`. The service runs code and searches within the
stream; a `functionCall` is run by the client, and then the turn goes on in the next request, although
`finishReason` says STOP. The Interactions API is another protocol and not read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onetake.streams.json_adapter import Decoder, JsonAdapter
from onetake.streams.objects import ObjectDecoder
from onetake.streams.sse import ServerSentEvent, SseDecoder

_TOOL_PARTS = {"functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}
_CUT = {
    "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
}  # fmt: skip
_BROKEN = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "OTHER"}


class GeminiAdapter(JsonAdapter):
    """Reads the first candidate; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__()
        self._called = False

    def _decoder_for_response(self) -> Decoder:
        return _EitherDecoder()

    def _on_next_response(self) -> None:
        super()._on_next_response()
        self._called = False

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"error": dict(error)}:
                self._turn.fail(error.get("status") or "model_error", error.get("message"))
            case {"promptFeedback": {"blockReason": reason}}:
                self._turn.fail("refusal", f"The model was not allowed to answer ({reason}).")
            case {"candidates": list(candidates)}:
                for candidate in candidates:
                    if isinstance(candidate, dict) and not candidate.get("index"):
                        self._read_candidate(candidate)

    def _read_candidate(self, candidate: dict[str, Any]) -> None:
        match candidate:
            case {"content": {"parts": list(parts)}}:
                for part in parts:
                    self._read_part(part)
        reason = candidate.get("finishReason")
        if not isinstance(reason, str) or reason == "FINISH_REASON_UNSPECIFIED":
            return
        if reason in _BROKEN:
            self._turn.fail(reason, "The model broke off.")
        elif self._called:
            self._turn.awaiting = True
        else:
            self._turn.finish("truncated" if reason in _CUT else "complete")

    def _read_part(self, part: Any) -> None:
        match part:
            case {"thought": True}:
                pass
            case {"text": text}:
                self._turn.say(text)
            case dict() if _TOOL_PARTS & part.keys():
                self._turn.end_unit()
                self._called = self._called or "functionCall" in part


class _EitherDecoder:
    """SSE, unless the first byte that is not blank begins an array or an object."""

    def __init__(self) -> None:
        self._decoder: SseDecoder | ObjectDecoder | None = None

    @property
    def too_long(self) -> bool:
        return self._decoder is not None and self._decoder.too_long

    def feed(self, data: bytes) -> Sequence[ServerSentEvent | str]:
        if self._decoder is None:
            data = data.lstrip()
            if not data:
                return []
            self._decoder = ObjectDecoder() if data[:1] in (b"[", b"{") else SseDecoder()
        return self._decoder.feed(data)

    def close(self) -> Sequence[ServerSentEvent | str]:
        return self._decoder.close() if self._decoder else []
