"""The adapter for AG-UI events over SSE. Not resumable.

Source: ag-ui-protocol 1.0.0, `_generated/models.py` and `encoder/encoder.py`. What sub-agents and other roles
write is not spoken. A run that ends while tool calls have no result is followed by another run of the same
turn. Models behind it may be local ones that write their thoughts inline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from onetake.streams.json_adapter import JsonAdapter
from onetake.streams.turn import OPEN_LIMIT


@dataclass
class _Text:
    """What one message said in a row; without an id it is a tool call between two of them."""

    message: str | None
    pieces: list[str] = field(default_factory=list)

    def join(self) -> str:
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]


class AgUiAdapter(JsonAdapter):
    """Reads all runs of a turn; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__(thoughts=True)
        self._told: list[_Text] = []  # to compare with what MESSAGES_SNAPSHOT says of it
        self._writing: dict[str, bool] = {}  # the messages begun and not ended: whether they are spoken
        self._chunked = ""  # the message and the call that a chunk without an id goes on with
        self._chunked_call = ""

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"subagentRunId": str()}:
                return
            case {"type": "TEXT_MESSAGE_START", "messageId": str(message), **rest}:
                self._begin(message, rest.get("role"))
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": str(message), "delta": text}:
                self._say(message, text)
            case {"type": "TEXT_MESSAGE_END", "messageId": str(message)}:
                self._writing.pop(message, None)
            case {"type": "TEXT_MESSAGE_CHUNK", **rest}:
                message = str(rest.get("messageId") or self._chunked)
                if message != self._chunked:
                    self._writing.pop(self._chunked, None)
                    self._chunked = message
                    self._begin(message, rest.get("role"))
                self._say(message, rest.get("delta") or "")
            case {"type": "TOOL_CALL_START", "toolCallId": str(call)}:
                self._call(call)
            case {"type": "TOOL_CALL_CHUNK", "toolCallId": str(call)} if call != self._chunked_call:
                self._chunked_call = call
                self._call(call)
            case {"type": "TOOL_CALL_RESULT", "toolCallId": str(call)}:
                self._turn.answer(call)
            case {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}:
                self._compare(messages)
            case {"type": "RUN_STARTED"}:
                self._turn.proceed()
            case {"type": "RUN_FINISHED", **rest}:
                self._finish(rest.get("outcome"))
            case {"type": "RUN_ERROR", **rest}:
                self._turn.fail(rest.get("code") or "run_error", rest.get("message"))

    def _begin(self, message: str, role: object) -> None:
        self._writing[message] = role in (None, "assistant")
        if len(self._writing) > OPEN_LIMIT:
            self._turn.fail("too_many_messages", f"More than {OPEN_LIMIT} messages are open at one time.")

    def _say(self, message: str, text: object) -> None:
        if not text or not self._writing.get(message, True):
            return
        if not self._told or self._told[-1].message != message:
            self._turn.new_message()
            self._told.append(_Text(message))
        self._turn.say(text)
        self._told[-1].pieces.append(str(text))

    def _call(self, call: str) -> None:
        self._turn.call(call)
        if self._told and self._told[-1].message is not None:
            self._told.append(_Text(None))

    def _compare(self, messages: list[Any]) -> None:
        """A snapshot corrects what was told. One that only lags behind it, or leaves a message out, does not."""
        ours: dict[str, str] = {}
        for told in self._told:
            if told.message is not None:
                ours[told.message] = ours.get(told.message, "") + told.join()
        theirs: dict[str, str] = {}
        for each in messages:
            match each:
                case {"id": str(message), "role": "assistant", "content": str(text)} if message in ours:
                    comes_still = message in self._writing and text.startswith(ours[message])
                    if not ours[message].startswith(text) and not comes_still:
                        theirs[message] = text
        if theirs:
            self._correct(theirs)

    def _correct(self, theirs: dict[str, str]) -> None:
        """Tell all again, with the text of some messages replaced."""
        self._turn.retell()
        before, self._told = self._told, []
        for told in before:
            text = told.join()
            if told.message is None:
                self._turn.end_unit()
                self._told.append(told)
                continue
            if told.message in theirs:  # all of it comes where it began
                text, theirs[told.message] = theirs[told.message], ""
            self._say(told.message, text)
        self._turn.retold()

    def _finish(self, outcome: object) -> None:
        match outcome:
            case {"type": "cancelled"}:
                self._turn.fail("aborted", "The writing of the reply was stopped.")
            case {"type": "interrupt"} | {"pendingToolCallIds": [_, *_]}:
                self._turn.awaiting = True
            case _ if self._turn.unanswered:
                self._turn.awaiting = True
            case _:
                self._turn.finish()
