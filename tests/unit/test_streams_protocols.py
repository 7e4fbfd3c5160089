"""What each protocol has of its own, beyond the samples: one small stream for each fact."""

from __future__ import annotations

from typing import Any

import pytest

from onetake.streams import Failed, open_adapter
from tests.unit.telling import Told, ndjson, sse, tell


def chat(delta: dict[str, Any], finish_reason: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish_reason}]}


def message(text: str, item: str = "m1") -> dict[str, Any]:
    return {"type": "response.output_text.delta", "item_id": item, "delta": text}


def item(kind: str) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": {"type": kind}}


def created(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": name, **fields}}


COMPLETED = {"type": "response.completed", "response": {"id": "r1"}}
CALL = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]}


def block(**content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "content_block": content}


def text_delta(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}


def stop(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def part(text: str, name: str = "x") -> list[dict[str, Any]]:
    return [
        {"type": "text-start", "id": name},
        {"type": "text-delta", "id": name, "delta": text},
        {"type": "text-end", "id": name},
    ]


def ui_call(name: str) -> dict[str, Any]:
    return {"type": "tool-input-available", "toolCallId": name, "toolName": "f", "input": {}}


FINISH_CUT = {"type": "finish", "finishReason": "length"}


def agui_text(text: str, name: str = "m1", **fields: Any) -> list[dict[str, Any]]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": name, **fields},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": name},
    ]


def agui_call(name: str) -> dict[str, Any]:
    return {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": "f"}


def agui_snapshot(*contents: tuple[str, str]) -> dict[str, Any]:
    messages = [{"id": name, "role": "assistant", "content": text} for name, text in contents]
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "Hi"}, *messages]}


RUN_FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def candidate(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **fields}]}


def graph(*rows: tuple[str, Any]) -> bytes:
    return b"".join(f"event: {name}\n".encode() + sse(data) for name, data in rows)


def ai(content: Any, name: str = "m1", kind: str = "AIMessageChunk", **fields: Any) -> list[Any]:
    return [{"type": kind, "id": name, "content": content, **fields}, {}]


def webui(kind: str, data: Any, message_id: str = "m") -> dict[str, Any]:
    return {"chat_id": "c", "message_id": message_id, "data": {"type": kind, "data": data}}


def snapshot(content: str, **fields: Any) -> dict[str, Any]:
    return webui("chat:completion", {"content": content, **fields})


TOOL_BLOCK = '<details type="tool_calls" done="true">\n<summary>Done</summary>\n</details>\n'

TURNS: dict[str, tuple[str, list[bytes], Told]] = {
    # -- openai-chat
    "openai-chat: a gateway that runs the tools goes on in the same stream": (
        "openai-chat",
        [sse(chat({"content": "a. "}), chat(CALL, "tool_calls"), chat({"content": "b"}), chat({}, "stop"))],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "openai-chat: text in the delta of a call comes before it": (
        "openai-chat",
        [sse(chat({"content": "a", **CALL}, "tool_calls"), end="data: [DONE]\n\n")],
        Told("a", [1], ["a"], False, "awaiting_tool"),
    ),
    "openai-chat: further pieces of a call end nothing": (
        "openai-chat",
        [
            sse(
                chat(CALL),
                chat({"content": "a"}),
                chat({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
                chat({"content": "b"}, "stop"),
            )
        ],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "openai-chat: other choices, reasoning and usage are not said, refusals are": (
        "openai-chat",
        [
            sse(
                chat({"content": "x"}, index=1),
                chat({"reasoning_content": "x"}),
                {"choices": [], "usage": {}},
                chat({"refusal": "No."}, "content_filter"),
            )
        ],
        Told("No.", [3], ["No."], True, "truncated"),
    ),
    "openai-chat: the old function_call is a call": (
        "openai-chat",
        [sse(chat({"content": "a"}), chat({"function_call": {"name": "f"}}, "function_call"))],
        Told("a", [1], ["a"], False, "awaiting_tool"),
    ),
    "openai-chat: inline thoughts are not said": (
        "openai-chat",
        [sse(chat({"content": "<th"}), chat({"content": "ink>x</think>a"}, "stop"))],
        Told("a", [1], ["a"], True, "complete"),
    ),
    "openai-chat: content in parts": (
        "openai-chat",
        [sse(chat({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}]}, "stop"))],
        Told("a", [1], ["a"], True, "complete"),
    ),
    "openai-chat: a response that ends without a reason is lost": (
        "openai-chat",
        [sse(chat({"content": "a"})), sse(chat({"content": "b"}, "stop"))],
        Told("a", [], [], False, "interrupted"),
    ),
    "openai-chat: a last event that lacks its blank line counts": (
        "openai-chat",
        [sse(chat({"content": "a"})) + sse(chat({}, "stop")).rstrip()],
        Told("a", [1], ["a"], True, "complete"),
    ),
    # -- openai-responses
    "openai-responses: commentary and answer are joined by a blank line": (
        "openai-responses",
        [sse(created("r1"), message("a."), item("reasoning"), message("b.", "m2"), COMPLETED)],
        Told("a.\n\nb.", [6], ["a.\n\nb."], True, "complete"),
    ),
    "openai-responses: a tool of the service ends a unit, and the stream goes on": (
        "openai-responses",
        [sse(message("a. "), item("web_search_call"), message("b", "m2"), COMPLETED)],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "openai-responses: an incomplete response is cut": (
        "openai-responses",
        [sse(message("a"), {"type": "response.incomplete", "response": {"id": "r1"}})],
        Told("a", [1], ["a"], True, "truncated"),
    ),
    "openai-responses: a steered response has a successor": (
        "openai-responses",
        [
            sse(
                created("r1"),
                message("a"),
                {"type": "response.incomplete", "response": {"id": "r1", "incomplete_details": {"reason": "steered"}}},
                created("r2"),
                message("b", "m2"),
                COMPLETED,
            )
        ],
        Told("a\n\nb", [4], ["a\n\nb"], True, "complete"),
    ),
    "openai-responses: a failure in the stream": (
        "openai-responses",
        [sse(message("a"), {"type": "error", "code": "server_error", "message": "x"})],
        Told("a", [], [], False, "error"),
    ),
    "openai-responses: what a response in the background sends again is said once": (
        "openai-responses",
        [
            sse(created("r1", background=True), {**message("a"), "sequence_number": 1}),
            sse({**message("a"), "sequence_number": 1}, {**message("b"), "sequence_number": 2}, COMPLETED),
        ],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "openai-responses: the next response begins anew, even under the same id": (
        "openai-responses",
        [
            sse(created("r1"), {**message("a "), "sequence_number": 5}, item("function_call"), COMPLETED),
            sse(created("r1"), {**message("b", "m2"), "sequence_number": 1}, COMPLETED),
        ],
        Told("a b", [2, 3], ["a ", "b"], True, "complete"),
    ),
    # -- anthropic-messages
    "anthropic-messages: a pause goes on with the same text in the next request": (
        "anthropic-messages",
        [sse(text_delta("a "), stop("pause_turn")), sse(text_delta("b"), stop("end_turn"))],
        Told("a b", [3], ["a b"], True, "complete"),
    ),
    "anthropic-messages: a refusal ends the reply": (
        "anthropic-messages",
        [sse(text_delta("a"), stop("refusal"))],
        Told("a", [1], ["a"], True, "refusal"),
    ),
    "anthropic-messages: another model takes over in another unit": (
        "anthropic-messages",
        [sse(text_delta("a "), block(type="fallback"), text_delta("b"), stop("max_tokens"))],
        Told("a b", [2, 3], ["a ", "b"], True, "truncated"),
    ),
    "anthropic-messages: the text that a block begins with is said": (
        "anthropic-messages",
        [sse(block(type="text", text="a"), text_delta("b"), stop("end_turn"))],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    # -- ai-sdk-ui
    "ai-sdk-ui: text parts of one step are joined by a blank line": (
        "ai-sdk-ui",
        [sse(*part("a."), *part("b.", "y"), {"type": "finish"})],
        Told("a.\n\nb.", [6], ["a.\n\nb."], True, "complete"),
    ),
    "ai-sdk-ui: a call without a result is awaited, and the next response goes on": (
        "ai-sdk-ui",
        [sse(*part("a. "), ui_call("c"), {"type": "finish"}), sse({"type": "start"}, *part("b"), {"type": "finish"})],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "ai-sdk-ui: an abort ends no unit": (
        "ai-sdk-ui",
        [sse(*part("a"), {"type": "abort"}, end="data: [DONE]\n\n")],
        Told("a", [], [], False, "interrupted"),
    ),
    "ai-sdk-ui: only the rest may come when the stream is opened again": (
        "ai-sdk-ui",
        [
            sse({"type": "start", "messageId": "m"}, {"type": "text-start", "id": "x"}, part("a")[1]),
            sse({"type": "start", "messageId": "m"}, part("b")[1], {"type": "finish"}),
        ],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "ai-sdk-ui: the rest may begin with a new part": (
        "ai-sdk-ui",
        [
            sse({"type": "start", "messageId": "m"}, *part("a. "), ui_call("c")),
            sse({"type": "start", "messageId": "m"}, {"type": "start-step"}, *part("b", "y"), FINISH_CUT),
        ],
        Told("a. b", [3, 4], ["a. ", "b"], True, "truncated"),
    ),
    "ai-sdk-ui: another message when the stream is opened again is a new take": (
        "ai-sdk-ui",
        [
            sse({"type": "start", "messageId": "m"}, *part("a")),
            sse({"type": "start", "messageId": "n"}, *part("b", "y"), {"type": "finish"}),
        ],
        Told("b", [1], ["b"], True, "complete", [0]),
    ),
    "ai-sdk-ui: a replay keeps the units that were whole": (
        "ai-sdk-ui",
        [
            sse({"type": "start"}, *part("a. "), ui_call("c"), *part("b", "y")),
            sse({"type": "start"}, *part("a. "), ui_call("c"), *part("bc", "y"), FINISH_CUT),
        ],
        Told("a. bc", [3, 5], ["a. ", "bc"], True, "truncated", [3]),
    ),
    "ai-sdk-ui: without a step all is reset": (
        "ai-sdk-ui",
        [sse({"type": "start"}, *part("a"), {"type": "reset-step"}, *part("b", "y"), {"type": "finish"})],
        Told("b", [1], ["b"], True, "complete", [0]),
    ),
    # -- ag-ui
    "ag-ui: messages with no call between them are joined by a blank line": (
        "ag-ui",
        [sse(*agui_text("a."), *agui_text("b.", "m2"), RUN_FINISHED)],
        Told("a.\n\nb.", [6], ["a.\n\nb."], True, "complete"),
    ),
    "ag-ui: what other roles write is not said": (
        "ag-ui",
        [sse(*agui_text("x", role="system"), *agui_text("a", "m2", role="assistant"), RUN_FINISHED)],
        Told("a", [1], ["a"], True, "complete"),
    ),
    "ag-ui: a run with a call that has no result is followed by another": (
        "ag-ui",
        [
            sse(*agui_text("a. "), agui_call("c"), RUN_FINISHED),
            sse({"type": "RUN_STARTED"}, *agui_text("b", "m2"), RUN_FINISHED),
        ],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "ag-ui: an interrupt waits for the listener": (
        "ag-ui",
        [sse(*agui_text("a"), {**RUN_FINISHED, "outcome": {"type": "interrupt", "interrupts": []}})],
        Told("a", [], [], False, "awaiting_tool"),
    ),
    "ag-ui: a cancelled run is no end": (
        "ag-ui",
        [sse(*agui_text("a"), {**RUN_FINISHED, "outcome": {"type": "cancelled"}})],
        Told("a", [], [], False, "interrupted"),
    ),
    "ag-ui: a snapshot that agrees, lags or knows other messages changes nothing": (
        "ag-ui",
        [
            sse(
                agui_snapshot(("old", "x")),
                *agui_text("ab"),
                agui_snapshot(("m1", "a")),
                agui_snapshot(("m1", "ab"), ("other", "x")),
                RUN_FINISHED,
            )
        ],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "ag-ui: a snapshot that contradicts is said from the unit that differs": (
        "ag-ui",
        [
            sse(
                *agui_text("a. "),
                agui_call("c"),
                *agui_text("b", "m2"),
                agui_snapshot(("m1", "a. "), ("m2", "c")),
                {"type": "TOOL_CALL_RESULT", "toolCallId": "c"},
                RUN_FINISHED,
            )
        ],
        Told("a. c", [3, 4], ["a. ", "c"], True, "complete", [3]),
    ),
    "ag-ui: a snapshot that runs ahead of a message being written waits for its text": (
        "ag-ui",
        [sse(*agui_text("a")[:2], agui_snapshot(("m1", "ab")), *agui_text("b")[1:], RUN_FINISHED)],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "ag-ui: further chunks of a call end nothing": (
        "ag-ui",
        [
            sse(
                {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f"},
                *agui_text("a")[:2],
                {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "delta": "{}"},
                *agui_text("b")[1:],
                {"type": "TOOL_CALL_RESULT", "toolCallId": "c"},
                RUN_FINISHED,
            )
        ],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "ag-ui: a snapshot of a message that was ended tells the rest of it": (
        "ag-ui",
        [sse(*agui_text("a"), agui_snapshot(("m1", "ab")), RUN_FINISHED)],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    # -- ollama-chat
    "ollama-chat: a length limit cuts, and a last line may lack its end": (
        "ollama-chat",
        [ndjson({"message": {"content": "a"}, "done": True, "done_reason": "length"}).rstrip()],
        Told("a", [1], ["a"], True, "truncated"),
    ),
    "ollama-chat: thinking is not said": (
        "ollama-chat",
        [ndjson({"message": {"content": "", "thinking": "x"}}, {"message": {"content": "a"}, "done": True})],
        Told("a", [1], ["a"], True, "complete"),
    ),
    "ollama-chat: a body that merely ends is no end": (
        "ollama-chat",
        [ndjson({"message": {"content": "a"}, "done": False})],
        Told("a", [], [], False, "interrupted"),
    ),
    # -- gemini
    "gemini: code that the service runs ends a unit, and the stream goes on": (
        "gemini",
        [
            sse(
                candidate({"text": "a. "}, {"executableCode": {"code": "1"}}),
                candidate({"codeExecutionResult": {"output": "1"}}, {"text": "b"}, finishReason="STOP"),
            )
        ],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "gemini: what a filter cut is final": (
        "gemini",
        [sse(candidate({"text": "a"}), {"candidates": [{"finishReason": "SAFETY"}]})],
        Told("a", [1], ["a"], True, "truncated"),
    ),
    "gemini: an error in an array": (
        "gemini",
        [b'[{"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}]'],
        Told("", [], [], False, "error"),
    ),
    # -- langgraph
    "langgraph: what sub-graphs write is not said": (
        "langgraph",
        [graph(("messages|sub:1", ai("x", "m0")), ("messages", ai("a")), ("end", None))],
        Told("a", [1], ["a"], True, "complete"),
    ),
    "langgraph: content in blocks, and a whole message after its chunks": (
        "langgraph",
        [
            graph(
                ("messages", ai([{"type": "reasoning", "text": "x"}, {"type": "text", "text": "a. ", "index": 0}])),
                ("messages", ai([{"type": "tool_use", "id": "c", "name": "f", "input": {}}])),
                ("messages", ai("a. ", kind="ai")),
                ("messages", ai("b", "m2", kind="ai")),
                ("end", {"status": "success"}),
            )
        ],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "langgraph: another message is joined by a blank line": (
        "langgraph",
        [graph(("messages", ai("a.")), ("messages", ai("b.", "m2")), ("end", None))],
        Told("a.\n\nb.", [6], ["a.\n\nb."], True, "complete"),
    ),
    "langgraph: the old mode sends all of the message so far": (
        "langgraph",
        [
            graph(
                ("messages/partial", ai("a")[:1]),
                ("messages/partial", ai("ab")[:1]),
                ("messages/partial", ai("ac")[:1]),
                ("messages/complete", ai("ac")[:1]),
                ("end", None),
            )
        ],
        Told("ac", [2], ["ac"], True, "complete", [0]),
    ),
    "langgraph: an interrupted run goes on in another": (
        "langgraph",
        [
            graph(("messages", ai("a. ")), ("updates", {"__interrupt__": [{}]}), ("end", None)),
            graph(("messages", ai("b")), ("end", None)),
        ],
        Told("a. b", [4], ["a. b"], True, "complete"),
    ),
    # -- open-webui
    "open-webui: content that is replaced starts over": (
        "open-webui",
        [ndjson(snapshot("ab"), webui("chat:message", {"content": "c"}), snapshot("cd", done=True))],
        Told("cd", [2], ["cd"], True, "complete", [0]),
    ),
    "open-webui: pieces go on with the content": (
        "open-webui",
        [
            ndjson(
                snapshot("a"),
                webui("chat:message:delta", {"content": f"b\n{TOOL_BLOCK[:30]}"}),
                webui("message", {"content": f"{TOOL_BLOCK[30:]}c"}),
                webui("chat:completion", {"done": True}),
            )
        ],
        Told("ab\nc", [3, 4], ["ab\n", "c"], True, "complete"),
    ),
    "open-webui: details that a model writes are text": (
        "open-webui",
        [ndjson(snapshot("<details>a</details>", done=True))],
        Told("<details>a</details>", [20], ["<details>a</details>"], True, "complete"),
    ),
    "open-webui: what merely begins like a block is text at the end": (
        "open-webui",
        [ndjson(snapshot("1 <d"), snapshot("1 <d", done=True))],
        Told("1 <d", [4], ["1 <d"], True, "complete"),
    ),
    "open-webui: content that loses blank space at its end is the same": (
        "open-webui",
        [ndjson(snapshot("a\n"), snapshot("a"), snapshot(f"a\n{TOOL_BLOCK}b", done=True))],
        Told("a\nb", [2, 3], ["a\n", "b"], True, "complete"),
    ),
    "open-webui: output in items": (
        "open-webui",
        [
            ndjson(
                webui(
                    "chat:completion",
                    {
                        "output": [
                            {"type": "reasoning", "content": [{"type": "text", "text": "x"}]},
                            {"type": "message", "content": [{"type": "output_text", "text": "a. "}]},
                            {"type": "function_call", "name": "f"},
                            {"type": "message", "content": [{"type": "output_text", "text": "b"}]},
                        ],
                        "done": True,
                    },
                )
            )
        ],
        Told("a. b", [3, 4], ["a. ", "b"], True, "complete"),
    ),
    "open-webui: other messages are not said": (
        "open-webui",
        [ndjson(snapshot("a"), webui("message", {"content": "x"}, "other"), snapshot("ab", done=True))],
        Told("ab", [2], ["ab"], True, "complete"),
    ),
    "open-webui: a cancelled task is no end": (
        "open-webui",
        [ndjson(snapshot("a"), webui("chat:tasks:cancel", {}))],
        Told("a", [], [], False, "interrupted"),
    ),
}


@pytest.mark.parametrize(("protocol", "responses", "expected"), TURNS.values(), ids=TURNS)
def test_a_turn_comes_to_what_it_says(protocol: str, responses: list[bytes], expected: Told) -> None:
    assert tell(protocol, [[body] for body in responses]) == expected


ERRORS = {
    "openai-chat": (sse({"error": {"message": "Busy.", "type": "server_error", "code": None}}), "server_error"),
    "openai-responses": (
        sse({"type": "response.failed", "response": {"error": {"code": "rate_limit", "message": "Busy."}}}),
        "rate_limit",
    ),
    "anthropic-messages": (
        sse({"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}),
        "overloaded_error",
    ),
    "ai-sdk-ui": (sse({"type": "error", "errorText": "Busy."}), "model_error"),
    "ag-ui": (sse({"type": "RUN_ERROR", "message": "Busy.", "code": "busy"}), "busy"),
    "ollama-chat": (ndjson({"error": "Busy."}), "model_error"),
    "gemini": (sse({"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}}), "UNAVAILABLE"),
    "langgraph": (graph(("error", {"error": "TimeoutError", "message": "Busy."})), "TimeoutError"),
    "open-webui": (ndjson(webui("chat:message:error", {"error": {"content": "Busy."}})), "model_error"),
}


@pytest.mark.parametrize(("protocol", "body", "code"), [(name, *case) for name, case in ERRORS.items()], ids=ERRORS)
def test_an_error_in_the_stream_is_told_in_its_own_words(protocol: str, body: bytes, code: str) -> None:
    (failed,) = open_adapter(protocol).feed(body)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.message) == (code, "Busy.")
