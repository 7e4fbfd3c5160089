"""The adapter for Open WebUI's socket events, one JSON object a line. Not resumable.

Source: open-webui/docs 1eea384, `plugin/development/events.mdx`. Hand it the payloads of the socket.io event
`events` as lines. Most carry all of the content so far, so the work is linear in the bytes received, not in the
text. The content holds `<details type=…>` blocks: those of tools are where one ran, none is spoken.
"""

from __future__ import annotations

from typing import Any

from onetake.streams.blocks import InlineBlocks
from onetake.streams.json_adapter import Decoder, JsonAdapter, texts
from onetake.streams.lines import LineDecoder

_REASONING = '<details type="reasoning"'
_TOOLS = ['<details type="tool_calls"', '<details type="code_interpreter"']


class OpenWebUiAdapter(JsonAdapter):
    """Reads one message, the first that says something; see `onetake.streams.Adapter`."""

    def __init__(self) -> None:
        super().__init__(thoughts=True)
        self._message: object = None
        self._details = _details()

    def _decoder_for_response(self) -> Decoder:
        return LineDecoder()

    def _read(self, record: Any, event: str) -> None:
        match record:
            case {"data": {"type": str(kind), "data": data}, **rest}:
                if self._message is not None and rest.get("message_id") != self._message:
                    return
                self._read_event(kind, data, rest.get("message_id"))

    def _read_event(self, kind: str, data: Any, message: object) -> None:
        match kind, data:
            case "chat:completion", dict(completion):
                self._read_completion(completion, message)
            case "chat:message:delta" | "message", {"content": text}:
                self._message = message
                self._say(text)
            case "chat:message" | "replace", {"content": content}:
                self._message = message
                self._tell_again(content)
            case "chat:message:error", {"error": error}:
                self._fail(error)
            case "chat:tasks:cancel", _:
                self._turn.fail("aborted", "The writing of the reply was stopped.")

    def _read_completion(self, data: dict[str, Any], message: object) -> None:
        match data:
            case {"error": error} if error:
                self._fail(error)
                return
            case {"content": content}:
                self._message = message
                self._tell_again(content)
            case {"output": list(items)}:
                self._message = message
                self._tell_items(items)
        if data.get("done") is True:
            self._turn.say(self._details.flush())
            self._turn.finish()

    def _tell_again(self, content: object) -> None:
        """All of the content so far."""
        self._turn.retell()
        self._details = _details()
        self._say(content)
        self._turn.retold()

    def _tell_items(self, items: list[Any]) -> None:
        """All of the output so far, in the shape of OpenAI Responses."""
        self._turn.retell()
        for item in items:
            match item:
                case {"type": "message", "content": content}:
                    self._turn.new_message()
                    for text in texts(content):
                        self._turn.say(text)
                case {"type": str(kind)} if kind != "reasoning":
                    self._turn.end_unit()
        self._turn.retold()

    def _say(self, content: object) -> None:
        for text, opening in self._details.feed(content) if isinstance(content, str) else [(content, None)]:
            self._turn.say(text)
            if opening in _TOOLS:
                self._turn.end_unit()

    def _fail(self, error: object) -> None:
        message = error.get("content") or error.get("message") if isinstance(error, dict) else error
        self._turn.fail("model_error", message)


def _details() -> InlineBlocks:
    return InlineBlocks([_REASONING, *_TOOLS], "</details>", line_end=True)
