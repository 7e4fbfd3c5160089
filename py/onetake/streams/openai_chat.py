"""The adapter for OpenAI Chat Completions and the many servers that speak it. Not resumable.

Source: openai 3.57.0, `types/chat/chat_completion_chunk.py` and `_streaming.py`; content in parts as Mistral
sends it. The results of tools are not in the stream: after `tool_calls` the turn goes on in the next request,
or, where a gateway runs the tools, with more text in this one. Local models may write their thoughts inline.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.json_adapter import JsonAdapter, called, texts


class OpenAiChatAdapter(JsonAdapter):
    """Reads the first choice; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__(thoughts=True)

    def _read(self, record: Any, event: str) -> None:
        match record:
            case "[DONE]" if not self._turn.awaiting:
                self._turn.finish()
            case {"error": dict(error)}:
                self._turn.fail(error.get("code") or error.get("type") or "model_error", error.get("message"))
            case {"error": str(message)}:
                self._turn.fail("model_error", message)
            case {"choices": list(choices)}:
                for choice in choices:
                    if isinstance(choice, dict) and not choice.get("index"):
                        self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            for text in [*texts(delta.get("content")), *texts(delta.get("refusal"))]:
                self._turn.say(text)
                self._turn.awaiting = self._turn.awaiting and not text.strip()
            if called(delta.get("tool_calls")) or called([delta.get("function_call")]):
                self._turn.end_unit()
                self._turn.awaiting = True
        match choice.get("finish_reason"):
            case "tool_calls" | "function_call":
                self._turn.awaiting = True
            case "length" | "content_filter":
                self._turn.finish("truncated")
            case "error":
                self._turn.fail("model_error", "The model broke off.")
            case str(reason) if reason and not self._turn.awaiting:
                self._turn.finish()
