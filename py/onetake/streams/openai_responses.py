"""The adapter for OpenAI Responses, over HTTP or WebSocket. Resumable in background mode.

Source: openai 3.57.0, `types/responses/*`. Every output item but messages and the model's own notes is a
tool; some are run by the service within the stream, others by the client, and then the turn goes on in the
next request. `last_event_id` is what `GET /v1/responses/{id}?stream=true` wants as `starting_after`.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.json_adapter import JsonAdapter

_NO_TOOLS = {"message", "reasoning", "compaction", "additional_tools"}
_RUN_BY_CLIENT = {
    "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
    "mcp_approval_request",
}  # fmt: skip


class OpenAiResponsesAdapter(JsonAdapter):
    """Reads all responses of a turn; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__()
        self._response: object = None
        self._background = False
        self._sequence = -1
        self._message: object = None
        self._wants_client = False

    @property
    def _resumable(self) -> bool:
        return self._background and self._sequence >= 0

    @property
    def last_event_id(self) -> str | None:
        return str(self._sequence) if self._resumable else None

    def _on_next_response(self) -> None:
        if self._turn.awaiting or not self._background:  # not the rest of the same one
            self._response, self._sequence, self._wants_client = None, -1, False
        super()._on_next_response()

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"response": {"id": str(response_id), **response}} if response_id != self._response:
                self._response, self._sequence, self._wants_client = response_id, -1, False
                self._background = response.get("background") is True
        match record:
            case {"sequence_number": int(number)}:
                if number <= self._sequence:
                    return  # sent again
                self._sequence = number
        match record:
            case {"type": "response.output_text.delta" | "response.refusal.delta", "delta": text, **rest}:
                if rest.get("item_id") != self._message:
                    self._turn.new_message()
                    self._message = rest.get("item_id")
                self._turn.say(text)
            case {"type": "response.output_item.added", "item": {"type": str(kind)}} if kind not in _NO_TOOLS:
                self._turn.end_unit()
                self._wants_client = self._wants_client or kind in _RUN_BY_CLIENT
            case {"type": "response.completed"} if self._wants_client:
                self._turn.awaiting = True
            case {"type": "response.completed"}:
                self._turn.finish()
            case {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "steered"}}}:
                self._turn.awaiting = True  # the listener said more; another response follows
            case {"type": "response.incomplete"}:
                self._turn.finish("truncated")
            case {"type": "response.failed", "response": {"error": {"code": code, "message": message}}}:
                self._turn.fail(code, message)
            case {"type": "response.failed"}:
                self._turn.fail("model_error", "The model broke off.")
            case {"type": "error", "error": dict(error)} | {"type": "error", **error}:
                self._turn.fail(error.get("code") or "model_error", error.get("message"))
