"""What may happen to a take on its way: it comes too slowly, breaks off, is no sound at all, or never ends.

A unit that fails says so and the next one is spoken.
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import joined

RATE = 24000


@run_in_pyodide
async def slow(selenium_ruler, frames, before, gap_s):
    """A take whose audio stops coming after `before` frames, until the clock has run dry for `gap_s`.

    Returns the recording, `inspect()`, and the heard position each time it was told, with the frame that the ear
    had got to.
    """
    from ruler import RATE, Stage

    told = []
    async with Stage() as stage:
        stage.voice._heard_news._on_news = lambda heard: told.append((heard, stage.ear()))
        text = "x" * 100
        ends = [(i + 1) / 100 * frames / RATE for i in range(100)]
        alignment = {"chars": [*text], "starts": [0, *ends[:-1]], "ends": ends}
        pauses = [[before, before / RATE + gap_s]]
        stage.plan(text, take=1, frames=frames, chunk=100_000, pauses=pauses, alignment=alignment)
        stage.say(text)
        await stage.until("idle")
        return await stage.pieces(), stage.inspect(), told


@pytest.mark.parametrize("gap_s", [0.05, 0.5, 5])
def test_an_underrun_loses_nothing_and_repeats_nothing(selenium_ruler, gap_s):
    frames, before = 24_000, 12_000
    pieces, seen, told = slow(selenium_ruler, frames, before, gap_s + 0.1)
    assert joined(pieces) == [(1, 0, before), (1, before % 8000, frames - before)]
    assert seen["counts"]["underruns"] == 1
    assert seen["units"][0]["frames_played"] == frames
    gap = pieces[-1][3] - (pieces[0][3] + before)
    assert gap >= gap_s * RATE
    # The heard position follows what has sounded, by the engine's alignment, and stands still in the gap.
    assert [heard for heard, _ in told] == sorted({heard for heard, _ in told})
    for heard, frame in told:
        sounded = sum(max(0, min(length, frame - at)) for _, _, length, at in pieces)
        assert heard * frames <= 100 * sounded + 1
    assert told[-1][0] == 100


@run_in_pyodide
async def troubled(selenium_ruler, plan, silent_s=30):
    """A unit answered by `plan`, and one after it; what was heard, and what became of the two."""
    from ruler import Stage

    from onetake.browser import synthesis, voice

    usual = synthesis.SILENT_S, voice.LONGEST_EXTRA_S, voice.LONGEST_TIMES
    synthesis.SILENT_S, voice.LONGEST_EXTRA_S, voice.LONGEST_TIMES = silent_s, 0.5, 1
    try:
        async with Stage() as stage:
            stage.plan("One.", take=1, **plan)
            stage.plan("Two.", take=2, frames=2_401, chunk=100_000)
            stage.say("One.", "Two.")
            await stage.until("idle")
            return await stage.pieces(), stage.inspect(), stage.units
    finally:
        synthesis.SILENT_S, voice.LONGEST_EXTRA_S, voice.LONGEST_TIMES = usual


ERROR = '{"error": {"code": "engine_failed", "message": "The engine broke."}}'

#: What the server answers, which code it is reported under, and how many frames are heard of it.
TROUBLES: dict[str, tuple[dict[str, Any], str, int]] = {
    "cut short": ({"frames": 4_800, "cut": True}, "take_cut_short", 4_800),
    "cut short amid a line": ({"body": '{"audio": "AAAA'}, "take_cut_short", 0),
    "lost halfway": ({"frames": 4_800, "fails": True}, "speech_unreachable", 4_800),
    "raw and lost halfway": ({"frames": 4_800, "fails": True, "format": "pcm"}, "speech_unreachable", 4_800),
    "an error halfway": ({"frames": 4_800, "cut": True, "last": ERROR}, "engine_failed", 4_800),
    "refused": ({"status": 502, "body": ERROR, "type": "application/json"}, "engine_failed", 0),
    "refused without a word": ({"status": 503, "body": ""}, "http_503", 0),
    "JSON for audio": ({"body": ERROR, "type": "audio/mpeg"}, "engine_failed", 0),
    "JSON for raw audio": ({"body": ERROR, "type": "audio/pcm"}, "engine_failed", 0),
    "JSON on several lines": ({"body": ERROR.replace(": {", ":\n{"), "type": "application/json"}, "engine_failed", 0),
    "a page for audio": ({"body": "<!doctype html>\n", "type": "text/html"}, "not_a_take", 0),
    "noise for a file": ({"body": "this is no sound at all", "type": "audio/mpeg"}, "audio_undecodable", 0),
    "a WAV cut in its header": ({"body": "RIFF....WAVEfmt ", "type": "audio/wav"}, "unsupported_audio", 0),
    "a WAV of another kind": ({"format": "wav", "wav": {"format": 6, "bits": 8}}, "unsupported_audio", 0),
    "no base64": ({"body": '{"audio": "!", "rate": 24000}\n'}, "bad_audio", 0),
    "no rate": ({"body": '{"audio": "AAAA"}\n'}, "bad_audio", 0),
    "no channels": ({"body": '{"audio": "AAAA", "rate": 24000, "channels": 0}\n'}, "bad_audio", 0),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_unit_that_fails_says_why_and_the_next_is_spoken(selenium_ruler, trouble):
    plan, code, frames = TROUBLES[trouble]
    pieces, seen, changes = troubled(selenium_ruler, plan)
    assert sum(length for take, _, length, _ in pieces if take == 1) == frames
    assert [piece[:3] for piece in pieces if piece[0] == 2] == [[2, 0, 2_401]]
    assert [unit["state"] for unit in seen["units"]] == ["failed", "done"]
    assert seen["units"][0]["error"]["code"] == code
    assert [change for change in changes if change[1] == "failed"][-1] == [0, "failed", code]


def test_a_server_that_falls_silent_is_given_up(selenium_ruler):
    _, seen, _ = troubled(selenium_ruler, {"never": True}, silent_s=0.2)
    assert seen["units"][0]["error"]["code"] == "speech_timeout"
    assert [unit["state"] for unit in seen["units"]] == ["failed", "done"]


@pytest.mark.parametrize("plan", [{"frames": 0}, {"frames": 0, "format": "pcm"}, {"body": "", "type": "audio/mpeg"}])
def test_a_take_without_a_sample_ends_and_the_next_is_spoken(selenium_ruler, plan):
    pieces, seen, _ = troubled(selenium_ruler, plan)
    assert [piece[:3] for piece in pieces] == [[2, 0, 2_401]]
    assert [unit["state"] for unit in seen["units"]] == ["done", "done"]
    assert seen["units"][0]["frames_received"] == 0


def test_a_voice_that_has_lost_its_thread_is_cut_off(selenium_ruler):
    """“One.” takes half a second; the limit is set so that what sounds until it is cut off is short."""
    hundred_times = 60 * RATE
    pieces, seen, _ = troubled(selenium_ruler, {"frames": hundred_times, "chunk": 4_800, "pauses": [[30_000, 9]]})
    assert seen["units"][0]["error"]["code"] == "take_too_long"
    assert RATE / 2 < sum(length for take, _, length, _ in pieces if take == 1) < 2 * RATE
    assert [piece[:3] for piece in pieces if piece[0] == 2] == [[2, 0, 2_401]]


@run_in_pyodide
async def odd_alignment(selenium_ruler, alignment):
    from ruler import Stage

    async with Stage() as stage:
        stage.plan("One.", take=1, alignment=alignment)
        stage.say("One.")
        await stage.until("idle")
        return stage.inspect()


def test_an_alignment_without_times_does_no_harm(selenium_ruler):
    alignment = {"chars": ["O", None, "e", "."], "starts": [None, "0.1", 0.2, 0.3], "ends": [None] * 4}
    seen = odd_alignment(selenium_ruler, alignment)
    assert (seen["units"][0]["state"], seen["heard"]) == ("done", 4)
