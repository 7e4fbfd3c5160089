"""The adapter for Anthropic Messages. Not resumable.

Source: anthropic 2.14.0, `types/raw_*.py` and `_streaming.py`. Blocks are joined as they are, since citations
split a sentence into several. The service runs some tools within the stream; `tool_use` and `pause_turn` ask
for another request, which goes on with the same turn.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.json_adapter import JsonAdapter


class AnthropicMessagesAdapter(JsonAdapter):
    """Reads all messages of a turn; see `onetake.streams.Adapter`."""

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"type": "content_block_start", "content_block": {"type": "text", "text": text}}:
                self._turn.say(text)
            case {"type": "content_block_start", "content_block": {"type": str(kind)}}:
                # `fallback`: from here on another model writes.
                if kind.endswith(("tool_use", "tool_result")) or kind == "fallback":
                    self._turn.end_unit()
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                self._turn.say(text)
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}}:
                self._stop(reason)
            case {"type": "error", "error": {"type": code, "message": message}}:
                self._turn.fail(code, message, retryable=code in ("overloaded_error", "api_error"))
            case {"type": "error"}:
                self._turn.fail("model_error", "The model broke off.")

    def _stop(self, reason: str) -> None:
        match reason:
            case "tool_use" | "pause_turn" | "compaction":
                self._turn.awaiting = True
            case "max_tokens" | "model_context_window_exceeded":
                self._turn.finish("truncated")
            case "refusal":
                self._turn.finish("refusal")
            case _:
                self._turn.finish()
