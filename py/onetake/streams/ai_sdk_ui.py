"""The adapter for the UI message stream of the Vercel AI SDK, versions 5 to 7. Resumable.

Source: ai 6.0.326 and 7.0.173, `src/ui-message-stream/ui-message-chunks.ts` and the docs on resuming. A stream
opened again tells the message from its start (the default) or only the rest (`resumeStreamIsReplay: false`);
the first chunk with an id shows which. Text parts of one step are the messages of design 7. Models behind the
SDK may be local ones that write their thoughts inline.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.json_adapter import JsonAdapter


class AiSdkUiAdapter(JsonAdapter):
    """Reads all streams of a turn, and any of them again; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__(thoughts=True)
        self._step = self._turn.mark()
        self._message: object = None
        self._first: object = None  # the id of the first part of the turn, by which a replay is known
        self._opened_again = False

    @property
    def _resumable(self) -> bool:
        return True

    def _on_next_response(self) -> None:
        self._opened_again = not self._turn.awaiting
        super()._on_next_response()

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"type": "start", **rest}:
                self._start(rest.get("messageId"))
            case {"type": "text-start" | "reasoning-start", "id": part}:
                self._begin_part(part)
                if record["type"] == "text-start":
                    self._turn.new_message()
            case {"type": "text-delta", "delta": text}:
                self._opened_again = False  # in the middle of a part: only the rest comes
                self._turn.say(text)
            case {"type": "tool-input-start" | "tool-input-available" | "tool-input-error", "toolCallId": call}:
                self._begin_part(call)
                self._turn.call(call)
                if record["type"] == "tool-input-error":
                    self._turn.answer(call)
            case {"type": "tool-output-available" | "tool-output-error" | "tool-output-denied", "toolCallId": call}:
                self._turn.answer(call)
            case {"type": "start-step"}:
                self._step = self._turn.mark()
            case {"type": "reset-step"}:
                self._turn.rewind(self._step)
            case {"type": "finish", **rest}:
                self._finish(rest.get("finishReason"))
            case {"type": "abort"}:
                self._turn.fail("aborted", "The writing of the reply was stopped.")
            case {"type": "error", **rest}:
                self._turn.fail("model_error", rest.get("errorText"))

    def _start(self, message: object) -> None:
        if self._opened_again and message is not None and message != self._message:
            self._first = None
            self._restart()  # not what was being written: a new take of it
        self._message = message

    def _begin_part(self, part: object) -> None:
        if self._first is None:
            self._first = part
        elif self._opened_again and part == self._first:
            self._restart()
        self._opened_again = False

    def _restart(self) -> None:
        self._opened_again = False
        self._turn.restart()
        self._step = self._turn.mark()

    def _finish(self, reason: object) -> None:
        match reason:
            case "error":
                self._turn.fail("model_error", "The model broke off.")
            case "interrupted":
                self._turn.fail("aborted", "The writing of the reply was stopped.")
            case "length" | "content-filter":
                self._turn.finish("truncated")
            case _ if reason == "tool-calls" or self._turn.unanswered:
                self._turn.awaiting = True
            case _:
                self._turn.finish()
