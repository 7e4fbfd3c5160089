"""Stop, reset and a new reply at every point: nothing of the old voice is heard any more, and the next is whole.

The listener's act and the look at the audio clock are one turn of the page's event loop. The bound is design 5's:
one render quantum and a ramp of at most 10 ms.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import encoded, ruler_samples

RATE = 24000
SILENT_AFTER = 128 + RATE // 100  # frames
OLD, NEW, FADED = 1, 2, -1  # takes

#: How the old unit is answered, by the point at which it is silenced.
OLD_PLANS: dict[str, dict[str, Any]] = {
    "before the first byte": {"never": True},
    "before the first audio": {"pauses": [[0, 9]]},
    "in the middle of a block": {"frames": 48_000, "chunk": 96_000},
    "while it streams": {"frames": 48_000, "chunk": 2_400, "pauses": [[7_200, 9]]},
    "in an underrun": {"frames": 48_000, "chunk": 2_400, "pauses": [[2_400, 9]]},
    "during decode": {"type": "audio/flac", "file": encoded(ruler_samples(OLD, 24_000), "FLAC", "PCM_16")},
    "between takes": {"frames": 2_400},
    "in the buffered tail": {"frames": 12_000, "chunk": 1_000},
    "while paused": {"frames": 48_000, "chunk": 2_400},
    "just paused": {"frames": 48_000, "chunk": 2_400},
    "while blocked": {"frames": 48_000, "chunk": 2_400},
}


@run_in_pyodide
async def silenced(selenium_ruler, point, plan, acts):
    """The recording of a unit that is silenced at `point` by `acts`, and of the unit that is spoken next.

    Returns the pieces, the clock's frame right after the last act, and the texts whose requests were aborted.
    """
    from ruler import Stage

    async with Stage() as stage:
        voice, ruler = stage.voice, stage.ruler
        stage.plan("Old.", take=1, **plan)
        stage.plan("Late.", never=True)
        stage.plan("New.", take=2, frames=2_401, chunk=100_000)
        if point == "during decode":
            ruler.holdDecoding()
        if point == "while blocked":
            await stage.context.suspend()
        stage.say("Old.", *(["Late."] if point == "between takes" else []), final=False)

        units = voice.reading.conductor.entries
        match point:
            case "before the first byte" | "before the first audio":
                await stage.until_asked("Old.")
            case "during decode":
                await stage.until_asked("Old.")
                await ruler.decoding
            case "between takes":
                await stage.until(lambda: units[0].state == "done")
            case "in the buffered tail":
                await stage.until(lambda: units[0].all_received and units[0].played_s > 0.1)
            case "while paused":
                await stage.until_playing(seconds=0.1)
                voice.pause()
                await stage.advance(0.1)
            case "just paused":
                await stage.until_playing(seconds=0.1)
                voice.pause()
            case "while blocked":
                await stage.until(lambda: units[0].received_s > 0.5 and voice.state == "blocked")
            case "in an underrun":
                await stage.until_playing(seconds=0.1)
                await stage.advance(0.1)
            case _:
                await stage.until_playing(seconds=0.1)

        for act in acts:
            match act:
                case "reset":
                    voice.reset()
                case "stop":
                    voice.stop()
                case "begin":
                    voice.begin()
                case text:
                    stage.say(text, final=False)
        silent = stage.frame()

        if point == "during decode":
            await ruler.releaseDecoding()
        if point == "while blocked":
            await stage.context.resume()
        await stage.advance(0.15)
        if acts[-1] == "stop":
            voice.begin()
        stage.say("New.")
        await stage.until("idle")
        pieces = await stage.pieces()
        aborted = ruler.aborted.to_py()
    return pieces, silent, aborted


def check(pieces: list[list[int]], silent: int) -> None:
    """Nothing old sounds beyond the bound, and the new take sounds whole, once, at full volume."""
    old = [piece for piece in pieces if piece[0] != NEW]
    assert {take for take, *_ in old} <= {OLD, FADED}
    assert max((at + frames for _, _, frames, at in old), default=0) <= silent + SILENT_AFTER
    assert [piece[:3] for piece in pieces if piece[0] == NEW] == [[NEW, 0, 2_401]]


CASES = [(point, act) for point in OLD_PLANS for act in ("stop", "reset")]
CASES += [(point, "begin") for point in ("before the first byte", "while it streams", "while paused", "while blocked")]


@pytest.mark.parametrize(("point", "act"), CASES)
def test_nothing_old_is_heard_after(selenium_ruler, point, act):
    pieces, silent, aborted = silenced(selenium_ruler, point, OLD_PLANS[point], [act])
    check(pieces, silent)
    heard_before = point not in ("before the first byte", "before the first audio", "during decode", "while blocked")
    assert (OLD in {take for take, *_ in pieces}) == heard_before
    if point in ("before the first byte", "before the first audio", "while it streams", "in an underrun"):
        assert aborted == ["Old."]
    if point == "between takes":
        assert aborted == ["Late."]


@pytest.mark.parametrize(
    "acts",
    [["reset", "reset"], ["stop", "stop"], ["stop", "reset"], ["reset", "Old.", "reset"], ["reset", "Late.", "reset"]],
    ids=" ".join,
)
def test_nothing_old_is_heard_after_several_acts_in_a_row(selenium_ruler, acts):
    pieces, silent, _ = silenced(selenium_ruler, "while it streams", OLD_PLANS["while it streams"], acts)
    check(pieces, silent)


@run_in_pyodide
async def there_and_back(selenium_ruler):
    """A unit, another, and the first again under the next generation, each amid the one before."""
    from ruler import Stage

    async with Stage() as stage:
        silent = []
        for take, text in ((1, "A."), (2, "B."), (3, "A.")):
            stage.plan(text, take=take, frames=24_000, chunk=2_400)
            stage.say(text, final=False)
            await stage.until_playing(seconds=0.1)
            stage.voice.reset()
            silent.append(stage.frame())
        return await stage.pieces(), silent


def test_the_same_text_in_another_generation_is_another_take(selenium_ruler):
    pieces, silent = there_and_back(selenium_ruler)
    for take, until in zip((1, 2, 3), silent, strict=True):
        sounding = [(at, at + frames) for which, _, frames, at in pieces if which == take]
        assert sounding
        assert sounding[-1][1] <= until + SILENT_AFTER
        assert all(at > silent[take - 2] for at, _ in sounding if take > 1)


class SpeechServer(ThreadingHTTPServer):
    """Sends some audio, or nothing at all, and then waits for the listener to leave."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), SpeechHandler)
        self.asked = threading.Event()
        self.left = threading.Event()


class SpeechHandler(BaseHTTPRequestHandler):
    server: SpeechServer

    def do_OPTIONS(self) -> None:
        self.answer({"access-control-allow-headers": "content-type"})

    def do_GET(self) -> None:
        """Answers once the speech was asked for."""
        self.server.asked.wait(30)
        self.answer({})

    def do_POST(self) -> None:
        text = json.loads(self.rfile.read(int(self.headers["content-length"])))["text"]
        self.server.asked.set()
        if text == "Amid.":
            self.answer({"content-type": "audio/pcm;rate=24000"}, ruler_samples(OLD, 24_000).astype("<i2").tobytes())
        if self.connection.recv(1) == b"":
            self.server.left.set()

    def answer(self, headers: dict[str, str], content: bytes = b"") -> None:
        self.send_response(200)
        for name, value in ({"access-control-allow-origin": "*"} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def speech_server() -> Iterator[SpeechServer]:
    with SpeechServer() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@run_in_pyodide
async def leave(selenium_ruler, url, text, act):
    import js
    from ruler import Stage

    async with Stage(url) as stage:
        stage.say(text)
        await js.fetch(url)
        if text == "Amid.":
            await stage.until_playing(seconds=0.1)
        getattr(stage.voice, act)()


@pytest.mark.parametrize("act", ["stop", "reset", "begin", "skip", "dispose"])
@pytest.mark.parametrize("text", ["Before.", "Amid."])
def test_the_server_sees_the_connection_close(selenium_ruler, speech_server, text, act):
    leave(selenium_ruler, f"http://127.0.0.1:{speech_server.server_port}/", text, act)
    assert speech_server.left.wait(30)


@run_in_pyodide
async def rewritten_when_told(selenium_ruler):
    """The last state and the sound of a reply that is reset by who is told of its first unit, amid the next one."""
    from ruler import Stage

    class Told(list):
        def append(self, change):
            super().append(change)
            stage.inspect()
            if len(self) == 1:
                stage.say("Late.", final=False)
                stage.voice.reset()
                stage.say("New.")

    async with Stage() as stage:
        stage.plan("Old.", never=True)
        stage.plan("New.", take=2, frames=2_400)
        stage.units = Told()
        stage.say("Old.", final=False)
        await stage.until("idle")
        return [[unit["text"], unit["state"]] for unit in stage.inspect()["units"]], await stage.pieces()


def test_who_is_told_of_a_unit_may_have_the_reply_written_anew_at_once(selenium_ruler):
    units, pieces = rewritten_when_told(selenium_ruler)
    assert units == [["New.", "done"]]
    assert [piece[:3] for piece in pieces] == [[NEW, 0, 2_400]]
