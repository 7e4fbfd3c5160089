"""The adapter for runs of a LangGraph server, modes `messages-tuple` and `messages`. Resumable where events
have ids.

Source: langgraph_sdk 0.4.14, `sse.py` and `schema.py`. What sub-graphs write (`messages|…`) is not spoken; a
server ends its stream with `end`, and one that merely closes it has not said that the reply is complete.
Models may be local ones that write their thoughts inline.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.json_adapter import JsonAdapter, called, texts


class LangGraphAdapter(JsonAdapter):
    """Reads all runs of a turn; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__(thoughts=True)
        self._message: object = None
        self._begin = self._turn.mark()  # of that message
        self._content = ""  # of that message, where every event carries all of it so far
        self._interrupted = False

    @property
    def _resumable(self) -> bool:
        return self._last_id is not None

    def _read(self, record: Any, event: str) -> None:
        match event, record:
            case "messages", [{"type": "AIMessageChunk" | "ai"} as message, *_]:
                self._read_piece(message, whole=message["type"] == "ai")
            case "messages/partial" | "messages/complete", [*_, {"type": "AIMessageChunk" | "ai"} as message]:
                self._read_snapshot(message)
            case "values" | "updates", {"__interrupt__": [_, *_]}:
                self._interrupted = True
            case "error", dict(error):
                self._turn.fail(error.get("error") or "run_error", error.get("message"))
            case "end", {"status": "error" | "timeout" as status}:
                self._turn.fail("run_error", f"The run ended with status {status!r}.")
            case "end", _:
                asks = self._interrupted or (isinstance(record, dict) and record.get("status") == "interrupted")
                self._interrupted = False
                if asks:
                    self._turn.awaiting = True
                else:
                    self._turn.finish()

    def _change_message(self, name: object) -> bool:
        """Whether this is another message than the one before."""
        if name == self._message:
            return False
        self._turn.new_message()
        self._message, self._begin, self._content = name, self._turn.mark(), ""
        return True

    def _read_piece(self, message: dict[str, Any], *, whole: bool) -> None:
        name = message.get("id")
        if not self._change_message(name) and whole and name is not None:
            return  # its chunks have brought all of it
        for text in texts(message.get("content")):
            self._turn.say(text)
        self._read_calls(message)

    def _read_snapshot(self, message: dict[str, Any]) -> None:
        self._change_message(message.get("id"))
        content = "".join(texts(message.get("content")))
        if not content.startswith(self._content):
            self._turn.rewind(self._begin)
            self._content = ""
        self._turn.say(content[len(self._content) :])
        self._content = content
        self._read_calls(message)

    def _read_calls(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        uses = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
        if any(called(calls) for calls in (message.get("tool_call_chunks"), message.get("tool_calls"), uses)):
            self._turn.end_unit()
