"""A voice in the page speaks the replies of every protocol, from the bytes of their responses on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_pyodide import run_in_pyodide

from onetake.streams import PROTOCOLS
from tests.browser.pieces import joined

SAMPLES = Path(__file__).parents[1] / "unit" / "streams"

#: The sample of each protocol in which a tool is called between two units.
TOOL_IN_THE_MIDDLE = {
    "openai-chat": "01-tool-two-requests",
    "openai-responses": "02-function-calls-two-requests",
    "anthropic-messages": "01-server-tool-middle",
    "ai-sdk-ui": "01-tool-middle",
    "ag-ui": "01-tool-middle",
    "ollama-chat": "01-tool-two-requests",
    "gemini": "01-function-call-two-requests",
    "langgraph": "01-messages-tuple",
    "open-webui": "01-snapshots",
}

OURS = [
    ("start", {"reply": "r", "conversation": "c"}),
    ("delta", {"text": "잠깐 볼게요. 👩‍💻"}),
    ("unit_end", {"at": 11}),
    ("tool", {"id": "t", "name": "clock", "phase": "call", "at": 11}),
    ("delta", {"text": "It is noon."}),
    ("final", {"length": 22}),
]


def sample(protocol):
    """The bodies of a turn's responses, and its units."""
    if protocol == "onetake":
        blocks = [
            f"event: {name}\ndata: {json.dumps({'generation': 1, **fields})}\nid: {number}\n\n"
            for number, (name, fields) in enumerate(OURS, 1)
        ]
        return ["".join(blocks)], ["잠깐 볼게요. 👩‍💻", "It is noon."]
    folder = SAMPLES / protocol
    expected = json.loads((folder / f"{TOOL_IN_THE_MIDDLE[protocol]}.expect.json").read_text(encoding="utf-8"))
    bodies = [(folder / part).read_bytes().decode() for part in expected["parts"]]
    return bodies, expected["units"]


@run_in_pyodide
async def speak(selenium_ruler, protocol, bodies, texts):
    """What was asked of the engine, what was heard, and what became of the units."""
    import js
    from ruler import Stage

    from onetake.browser.reading import read
    from onetake.streams import Delta, Final, Reset, UnitEnd, open_adapter

    adapter = open_adapter(protocol)
    async with Stage() as stage:
        for take, text in enumerate(texts):
            stage.plan(text, take=take, chunk=100_000)
        for body in bodies:
            async for event in read(js.Response.new(body), adapter):
                match event:
                    case Delta(text):
                        stage.voice.delta(text)
                    case UnitEnd(at):
                        stage.voice.unit_end(at)
                    case Reset(at):
                        stage.voice.reset(at)
                    case Final():
                        stage.voice.final()
        await stage.until("idle")
        return list(stage.ruler.asked), await stage.pieces(), stage.inspect()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reply_of_every_protocol_is_spoken_each_unit_as_one_take(selenium_ruler, protocol):
    bodies, units = sample(protocol)
    texts = [unit.strip() for unit in units]
    asked, pieces, seen = speak(selenium_ruler, protocol, bodies, texts)
    assert asked == texts
    assert joined(pieces) == [(take, 0, 2400) for take in range(len(units))]
    assert [unit["state"] for unit in seen["units"]] == ["done"] * len(units)
    assert [unit["end"] - unit["start"] for unit in seen["units"]] == [len(unit) for unit in units]
    assert seen["heard"] == seen["length"] == len("".join(units))
