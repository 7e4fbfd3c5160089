"""A fetch Response is read as the events of its protocol, in Pyodide as on this Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_pyodide import run_in_pyodide

from onetake.streams import open_adapter
from onetake.streams.json_text import DEPTH_LIMIT

SAMPLES = Path(__file__).parents[1] / "unit" / "streams"


@run_in_pyodide
async def read_in_page(selenium, turns, size):
    """The events, written out, of turns given as protocol and bodies; each body comes in chunks of `size` bytes."""
    import js
    from pyodide.ffi import to_js

    from onetake.browser.reading import read
    from onetake.streams import open_adapter

    cut = js.Function.new("body", "size", """
        let at = 0;
        return new Response(new ReadableStream({ pull(controller) {
            if (at >= body.length) return controller.close();
            controller.enqueue(body.slice(at, at += size));
        } }));
    """)  # fmt: skip
    told = []
    for protocol, bodies in turns:
        adapter = open_adapter(protocol)
        events = []
        for body in bodies:
            events += [repr(event) async for event in read(cut(to_js(body.encode()), size), adapter)]
        told.append(events)
    return told


def test_every_sample_gives_the_same_events_in_the_page(selenium):
    turns, expected = [], []
    for file in sorted(SAMPLES.glob("*/*.expect.json")):
        parts = json.loads(file.read_text(encoding="utf-8"))["parts"]
        bodies = [(file.parent / part).read_bytes() for part in parts]
        turns.append((file.parent.name, [body.decode() for body in bodies]))
        adapter = open_adapter(file.parent.name)
        events = []
        for body in bodies:
            chunks = [body[start : start + 7] for start in range(0, len(body), 7)]
            events += [event for chunk in chunks for event in adapter.feed(chunk)] + adapter.end_response()
        expected.append([repr(event) for event in events])
    assert read_in_page(selenium, turns, 7) == expected


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_nested_without_end_fails_the_reply_and_not_the_page(selenium, opening):
    (events,) = read_in_page(selenium, [("openai-chat", [f"data: {opening * 200_000}\n\n"])], 2**16)
    assert [event.partition(",")[0] for event in events] == ["Failed(code='malformed_event'"]


def test_json_nested_as_deep_as_is_allowed_is_read_in_the_page(selenium):
    nested = "[" * (DEPTH_LIMIT - 1) + "]" * (DEPTH_LIMIT - 1)
    line = f'{{"message": {{"content": "a"}}, "done": true, "x": {nested}}}\n'
    (events,) = read_in_page(selenium, [("ollama-chat", [line])], 2**16)
    assert events == ["Delta(text='a')", "Final(outcome='complete')"]


@run_in_pyodide
async def read_trouble(selenium, script, protocol):
    """The events, written out, of the Response that a script makes, and whether its body was cancelled."""
    import js

    from onetake.browser.reading import read

    response_js = js.Function.new(script)()
    return [repr(event) async for event in read(response_js, protocol)]


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ('{"error": {"code": "model_busy", "message": "Busy."}}', ("model_busy", "Busy.")),
        ('{"error": {"type": "overloaded_error", "message": "Busy."}}', ("overloaded_error", "Busy.")),
        ('{"detail": "Busy."}', ("http_529", "Busy.")),
        ("<h1>Busy</h1>", ("http_529", "the server answered with status 529")),
    ],
)
def test_a_refused_response_is_told_in_the_servers_words(selenium, body, failed):
    script = f"return new Response({json.dumps(body)}, {{ status: 529 }})"
    code, message = failed
    assert read_trouble(selenium, script, "anthropic-messages") == [
        f"Failed(code={code!r}, message={message!r}, retryable=False)"
    ]


LOST = """
    let told = false;
    return new Response(new ReadableStream({ pull(controller) {
        if (told) return controller.error(new TypeError("network error"));
        told = true;
        controller.enqueue(new TextEncoder().encode('{"message": {"content": "a"}}\\n'));
    } }));
"""


def test_a_body_that_is_lost_is_said_to_be(selenium):
    delta, failed = read_trouble(selenium, LOST, "ollama-chat")
    assert delta == "Delta(text='a')"
    assert failed.startswith("Failed(code='connection_lost'")


def test_a_response_without_a_body_has_no_events_where_the_stream_can_be_resumed(selenium):
    assert read_trouble(selenium, "return new Response(null, { status: 204 })", "ai-sdk-ui") == []


@run_in_pyodide
async def cancelled_by_stopping_early(selenium):
    """Whether a body is cancelled when its reader stops after the first event."""
    from contextlib import aclosing

    import js

    from onetake.browser.reading import read

    response_js = js.Function.new("""
        self.bodyCancelled = false;
        const line = new TextEncoder().encode('{"message": {"content": "a"}}\\n');
        return new Response(new ReadableStream({
            pull(controller) { controller.enqueue(line); },
            cancel() { self.bodyCancelled = true; },
        }));
    """)()
    async with aclosing(read(response_js, "ollama-chat")) as events:
        async for _ in events:
            break
    return js.bodyCancelled


def test_who_stops_early_ends_the_connection(selenium):
    assert cancelled_by_stopping_early(selenium) is True
