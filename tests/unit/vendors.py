"""Turns as the vendors' own packages encode them: segments of text in, the bodies of the responses out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import ag_ui.core as agui
import anthropic.types as anthropic
import ollama
from ag_ui.encoder import EventEncoder
from google.genai import types as gemini
from langchain_core.messages import AIMessageChunk, ToolMessage
from openai.types import responses as openai_responses
from openai.types.chat import ChatCompletionChunk
from pydantic_ai.ui.vercel_ai import response_types as vercel

Segments = Sequence[Sequence[str]]
"""A turn: the pieces of text between its tool calls. There is a call, and its result, between any two."""


def data_only(records: Sequence[str], end: str = "") -> bytes:
    return "".join(f"data: {record}\n\n" for record in records).encode() + end.encode()


def named(records: Sequence[Any]) -> bytes:
    return "".join(f"event: {each.type}\ndata: {each.model_dump_json()}\n\n" for each in records).encode()


def openai_chat_bodies(segments: Segments) -> list[bytes]:
    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        fields = {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk", "choices": [choice]}
        return ChatCompletionChunk.model_validate(fields).model_dump_json()

    def calls(name: str | None, arguments: str) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {"tool_calls": [{"index": 0, "id": name and f"call_{name}", "function": function, "type": "function"}]}

    bodies = []
    for number, pieces in enumerate(segments):
        last = number == len(segments) - 1
        records = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in pieces)]
        records += [] if last else [chunk(calls("look", "")), chunk(calls(None, "{}"))]
        bodies.append(data_only([*records, chunk({}, "stop" if last else "tool_calls")], "data: [DONE]\n\n"))
    return bodies


def openai_responses_bodies(segments: Segments) -> list[bytes]:
    bodies = []
    for number, pieces in enumerate(segments):
        response = openai_responses.Response.model_construct(id=f"resp_{number}", object="response", output=[])
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
        call = {"id": "fc", "call_id": "c", "type": "function_call", "name": "look", "arguments": ""}
        records: list[tuple[type[Any], dict[str, Any]]] = [
            (openai_responses.ResponseCreatedEvent, {"type": "response.created", "response": response}),
            (
                openai_responses.ResponseOutputItemAddedEvent,
                {"type": "response.output_item.added", "output_index": 0, "item": message},
            ),
            *(
                (
                    openai_responses.ResponseTextDeltaEvent,
                    {"type": "response.output_text.delta", "item_id": message["id"], "output_index": 0,
                     "content_index": 0, "delta": piece, "logprobs": []},
                )
                for piece in pieces
            ),
            (
                openai_responses.ResponseTextDoneEvent,
                {"type": "response.output_text.done", "item_id": message["id"], "output_index": 0,
                 "content_index": 0, "text": "".join(pieces), "logprobs": []},
            ),
        ]  # fmt: skip
        if number < len(segments) - 1:
            added = {"type": "response.output_item.added", "output_index": 1, "item": call}
            records.append((openai_responses.ResponseOutputItemAddedEvent, added))
        done = {"type": "response.completed", "response": response}
        records.append((openai_responses.ResponseCompletedEvent, done))
        built = [kind.model_construct(**fields, sequence_number=at) for at, (kind, fields) in enumerate(records)]
        bodies.append(named(built))
    return bodies


def anthropic_bodies(segments: Segments) -> list[bytes]:
    bodies = []
    for number, pieces in enumerate(segments):
        last = number == len(segments) - 1
        usage = anthropic.Usage(input_tokens=1, output_tokens=1)
        message = anthropic.Message.model_construct(
            id=f"msg_{number}", type="message", role="assistant", content=[], model="m", stop_reason=None, usage=usage
        )
        thinking = anthropic.ThinkingBlock(type="thinking", thinking="", signature="")
        text = anthropic.TextBlock(type="text", text="")
        call = anthropic.ToolUseBlock(type="tool_use", id="t", name="look", input={})
        blocks: list[tuple[Any, list[Any]]] = [
            (thinking, [anthropic.ThinkingDelta(type="thinking_delta", thinking="Hm.")]),
            (text, [anthropic.TextDelta(type="text_delta", text=piece) for piece in pieces]),
            *([] if last else [(call, [anthropic.InputJSONDelta(type="input_json_delta", partial_json="{}")])]),
        ]
        records: list[Any] = [anthropic.RawMessageStartEvent(type="message_start", message=message)]
        for index, (block, deltas) in enumerate(blocks):
            start = anthropic.RawContentBlockStartEvent(type="content_block_start", index=index, content_block=block)
            stop = anthropic.RawContentBlockStopEvent(type="content_block_stop", index=index)
            records += [start, *(
                anthropic.RawContentBlockDeltaEvent(type="content_block_delta", index=index, delta=delta)
                for delta in deltas
            ), stop]  # fmt: skip
        delta = {"stop_reason": "end_turn" if last else "tool_use"}
        records += [
            anthropic.RawMessageDeltaEvent.model_construct(type="message_delta", delta=delta),
            anthropic.RawMessageStopEvent(type="message_stop"),
        ]
        bodies.append(named(records))
    return bodies


def ai_sdk_bodies(segments: Segments) -> list[bytes]:
    records: list[Any] = [vercel.StartChunk(message_id="m")]
    for number, pieces in enumerate(segments):
        part, call = f"t{number}", f"c{number}"
        records += [
            vercel.StartStepChunk(),
            vercel.ReasoningStartChunk(id="r"),
            vercel.ReasoningDeltaChunk(id="r", delta="Hm."),
            vercel.ReasoningEndChunk(id="r"),
            vercel.TextStartChunk(id=part),
            *(vercel.TextDeltaChunk(id=part, delta=piece) for piece in pieces),
            vercel.TextEndChunk(id=part),
        ]
        if number < len(segments) - 1:
            records += [
                vercel.ToolInputStartChunk(tool_call_id=call, tool_name="look"),
                vercel.ToolInputDeltaChunk(tool_call_id=call, input_text_delta="{}"),
                vercel.ToolInputAvailableChunk(tool_call_id=call, tool_name="look", input={}),
                vercel.ToolOutputAvailableChunk(tool_call_id=call, output="It is here."),
            ]
        records.append(vercel.FinishStepChunk())
    records += [vercel.FinishChunk(), vercel.DoneChunk()]
    return [data_only([record.encode(6) for record in records])]


def ag_ui_bodies(segments: Segments) -> list[bytes]:
    records: list[Any] = [agui.RunStartedEvent(thread_id="t", run_id="r")]
    for number, pieces in enumerate(segments):
        message, call = f"m{number}", f"c{number}"
        records += [
            agui.TextMessageStartEvent(message_id=message),
            *(agui.TextMessageContentEvent(message_id=message, delta=piece) for piece in pieces if piece),
            agui.TextMessageEndEvent(message_id=message),
        ]
        if number < len(segments) - 1:
            records += [
                agui.ToolCallStartEvent(tool_call_id=call, tool_call_name="look", parent_message_id=message),
                agui.ToolCallArgsEvent(tool_call_id=call, delta="{}"),
                agui.ToolCallEndEvent(tool_call_id=call),
                agui.ToolCallResultEvent(message_id=f"{call}r", tool_call_id=call, content="It is here."),
            ]
    messages = [agui.AssistantMessage(id=f"m{at}", content="".join(pieces)) for at, pieces in enumerate(segments)]
    records += [agui.MessagesSnapshotEvent(messages=messages), agui.RunFinishedEvent(thread_id="t", run_id="r")]
    return ["".join(map(EventEncoder().encode, records)).encode()]


def ollama_bodies(segments: Segments) -> list[bytes]:
    look = ollama.Message.ToolCall(function=ollama.Message.ToolCall.Function(name="look", arguments={}))
    bodies = []
    for number, pieces in enumerate(segments):
        messages = [
            ollama.Message(role="assistant", content="", thinking="Hm."),
            *(ollama.Message(role="assistant", content=piece) for piece in pieces),
        ]
        if number < len(segments) - 1:
            messages.append(ollama.Message(role="assistant", content="", tool_calls=[look]))
        lines = [ollama.ChatResponse(message=message, done=False) for message in messages]
        nothing = ollama.Message(role="assistant", content="")
        lines.append(ollama.ChatResponse(message=nothing, done=True, done_reason="stop"))
        bodies.append("".join(line.model_dump_json(exclude_none=True) + "\n" for line in lines).encode())
    return bodies


def gemini_records(segments: Segments) -> list[list[str]]:
    def chunk(part: gemini.Part, finish_reason: gemini.FinishReason | None = None) -> str:
        candidate = gemini.Candidate(
            content=gemini.Content(parts=[part], role="model"), index=0, finish_reason=finish_reason
        )
        response = gemini.GenerateContentResponse(candidates=[candidate], response_id="r")
        return response.model_dump_json(by_alias=True, exclude_none=True)

    stop = gemini.FinishReason.STOP
    call = gemini.Part(function_call=gemini.FunctionCall(name="look", args={"at": "[}"}))
    return [
        [
            chunk(gemini.Part(text="Hm.", thought=True)),
            *(chunk(gemini.Part(text=piece)) for piece in pieces),
            chunk(gemini.Part(text=""), stop) if number == len(segments) - 1 else chunk(call, stop),
        ]
        for number, pieces in enumerate(segments)
    ]


def gemini_bodies(segments: Segments) -> list[bytes]:
    return [data_only(records).replace(b"\n", b"\r\n") for records in gemini_records(segments)]


def gemini_arrays(segments: Segments) -> list[bytes]:
    return ["[{}\n]\n".format(",\r\n".join(records)).encode() for records in gemini_records(segments)]


def langgraph_bodies(segments: Segments) -> list[bytes]:
    records: list[Any] = []
    for number, pieces in enumerate(segments):
        name = f"run--{number}"
        records += [AIMessageChunk(content=piece, id=name) for piece in pieces]
        if number < len(segments) - 1:
            calls = [
                {"name": "look", "args": "", "id": "c", "index": 0},
                {"name": None, "args": "{}", "id": None, "index": 0},
            ]
            records += [AIMessageChunk(content="", id=name, tool_call_chunks=[call]) for call in calls]
            records.append(ToolMessage(content="It is here.", tool_call_id="c", id=f"tool-{number}"))
    blocks = [
        f"event: messages\ndata: {json.dumps([record.model_dump(), {'langgraph_node': 'agent'}])}\n\n"
        for record in records
    ]
    return ["".join([*blocks, "event: end\ndata: null\n\n"]).encode()]


ENCODERS: dict[str, tuple[str, Callable[[Segments], list[bytes]]]] = {
    "openai": ("openai-chat", openai_chat_bodies),
    "openai, responses": ("openai-responses", openai_responses_bodies),
    "anthropic": ("anthropic-messages", anthropic_bodies),
    "pydantic-ai, Vercel's chunks": ("ai-sdk-ui", ai_sdk_bodies),
    "ag-ui-protocol": ("ag-ui", ag_ui_bodies),
    "ollama": ("ollama-chat", ollama_bodies),
    "google-genai": ("gemini", gemini_bodies),
    "google-genai, an array": ("gemini", gemini_arrays),
    "langchain-core": ("langgraph", langgraph_bodies),
}
