"""From an agent's events to the events of the reply stream: text, unit ends, tool calls and their results.

    transcript = Transcript()
    async with agent.iter("Hello", deps=deps) as run, …:
        for name, fields in transcript.feed(event):
            ...                         # ("delta", {"text": "Hi. "}), ("unit_end", {"at": 4}), ("tool", {…})

Pure. `cut` follows the same rules over recorded messages, so that a position in the reply means the same
place in the conversation's history. May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
)

from onetake.server.store.interface import WireEvent


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a transcript to come back to."""

    length: int
    unit_has_words: bool
    called: frozenset[str]


class Transcript:
    """The text of one take of a reply so far, and where its units end.

    A unit ends at the first sign of a tool call, and only if there is something to say since the last end.
    Parts of one response are joined as they are; responses with no tool call between them by a blank line.
    Thinking is left out.
    """

    def __init__(self) -> None:
        self.length = 0
        self._unit_has_words = False
        self._owes_blank_line = False
        self._called: set[str] = set()

    def mark(self) -> Mark:
        """This place; to be taken between two responses of the model."""
        return Mark(self.length, self._unit_has_words, frozenset(self._called))

    def rewind(self, mark: Mark) -> None:
        """Forget what came after `mark`."""
        self.length = mark.length
        self._unit_has_words = mark.unit_has_words
        self._called = set(mark.called)

    def feed(self, event: AgentStreamEvent) -> Iterator[WireEvent]:
        match event:
            case PartStartEvent(index=index, part=part):
                if index == 0:  # parts count from 0 in each response
                    self._owes_blank_line = self._unit_has_words
                match part:
                    case TextPart():
                        yield from self._text(part.content)
                    case ToolCallPart() | NativeToolCallPart():
                        yield from self._call(part.tool_call_id, part.tool_name)
                    case NativeToolReturnPart():
                        yield self._result(part)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                yield from self._text(text)
            case FunctionToolResultEvent(part=result):
                yield self._result(result)

    def _text(self, text: str) -> Iterator[WireEvent]:
        if not text:
            return
        text = ("\n\n" if self._owes_blank_line else "") + well_formed(text)
        self._owes_blank_line = False
        self._unit_has_words = self._unit_has_words or not text.isspace()
        self.length += len(text)
        yield "delta", {"text": text}

    def _call(self, call: str, name: str) -> Iterator[WireEvent]:
        if call in self._called:  # providers may announce a call of their own again, as its arguments come in
            return
        self._called.add(call)
        if self._unit_has_words:
            yield "unit_end", {"at": self.length}
        self._unit_has_words = self._owes_blank_line = False
        yield "tool", {"id": call, "name": name, "phase": "call", "at": self.length}

    def _result(self, part: ToolReturnPart | NativeToolReturnPart | RetryPromptPart) -> WireEvent:
        fine = not isinstance(part, RetryPromptPart) and part.outcome == "success"
        call = {"id": part.tool_call_id, "name": part.tool_name, "phase": "result", "at": self.length}
        return "tool", {**call, "outcome": "ok" if fine else "failed"}


def cut(messages: Sequence[ModelMessage], at: int) -> list[ModelMessage]:
    """The messages of one take up to code point `at` of its reply, as a history that every provider accepts.

    Nothing that came after `at` is left, and no tool call without its result. The response that is cut, or
    that was never finished, keeps only its text: a provider would refuse its thinking without what followed
    it.
    """
    transcript = Transcript()
    kept: list[ModelMessage] = []
    for message in messages:
        kept.append(message)
        if isinstance(message, ModelResponse):
            texts: list[str] = []
            for index, part in enumerate(message.parts):
                list(transcript.feed(PartStartEvent(index=index, part=part)))
                if isinstance(part, TextPart):
                    surplus = max(0, transcript.length - at)
                    texts.append(part.content[: max(0, len(part.content) - surplus)])
                if transcript.length > at:
                    return _closed(kept[:-1], texts)
    return _settled(kept)


def _settled(messages: list[ModelMessage]) -> list[ModelMessage]:
    """`messages` without a last response that is unfinished or has unanswered calls, except for its text."""
    for place in range(len(messages) - 1, -1, -1):
        response = messages[place]
        if isinstance(response, ModelResponse):
            called = {part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)}
            answered = {
                part.tool_call_id
                for request in messages[place + 1 :]
                for part in request.parts
                if isinstance(part, ToolReturnPart)
            }
            if response.state == "complete" and called <= answered:
                return messages
            texts = [part.content for part in response.parts if isinstance(part, TextPart)]
            return _closed(messages[:place], texts)
    return messages


def _closed(messages: list[ModelMessage], texts: list[str]) -> list[ModelMessage]:
    parts = [TextPart(well_formed(text)) for text in texts if text]
    return [*messages, ModelResponse(parts=parts)] if parts else messages


def well_formed(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, which JSON can carry and UTF-8 cannot."""
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)
