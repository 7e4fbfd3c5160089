"""How far the voice says it was heard, against what the recording shows to have sounded by then."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import RATE, paused

TEXT = "Well, the ferry leaves at noon; bring a warm coat and something to read, 😀 because the crossing is slow."
WORD_ENDS = [i for i, character in enumerate(TEXT + " ") if character == " "]
FRAMES = 48_000


def truth() -> list[float]:
    """When each code point of TEXT has sounded, in seconds: what a voice does, and no plain proportion."""
    lengths = [3.0 if c in ",;." else 1.3 if c in "aeiou" else 0.8 for c in TEXT]
    total = sum(lengths)
    return [end / total * FRAMES / RATE for end in accumulate(lengths)]


def alignment(kind: str) -> dict[str, list[object]] | None:
    """What the engine claims."""
    ends = truth()
    starts = [0.0, *ends[:-1]]
    last = len(TEXT) // 2
    match kind:
        case "good":
            return {"chars": [*TEXT], "starts": starts, "ends": ends}
        case "stuck":  # as if all of the second half were said at one moment
            return {"chars": [*TEXT], "starts": [*starts[:last], *[starts[last]] * (len(TEXT) - last)],
                    "ends": [*ends[:last], *[starts[last]] * (len(TEXT) - last)]}
        case "false":  # it goes back, and far beyond the audio
            return {"chars": [*TEXT], "starts": [9 - start for start in starts], "ends": [99 + end for end in ends]}
    return None


@run_in_pyodide
async def positions(selenium_ruler, text, alignment, at_s, stop):
    """The heard position in pauses of the take that begin at about these seconds of it.

    Also what was told, and when; the position before the first sample, and the one after the end or the stop.
    """
    import js
    from ruler import Stage

    told, found = [], []
    async with Stage() as stage:
        voice = stage.voice
        stage.plan(text, take=1, frames=48_000, chunk=100_000, alignment=alignment)
        voice._heard_news._on_news = lambda heard: told.append((heard, js.performance.now()))
        await stage.context.suspend()
        stage.say(text)
        await stage.until(lambda: voice.reading.conductor.entries[0].all_received)
        first = voice.heard
        await stage.context.resume()
        for moment in at_s:
            await stage.until_playing(seconds=moment)
            if stop:
                break
            voice.pause()
            await stage.advance(0.2)  # more than the output's latency
            found.append(voice.heard)
            voice.resume()
        if stop:
            voice.stop()
            voice.stop()
        await stage.until("idle")
        return await stage.pieces(), found, told, first, voice.heard


def word(position: int) -> int:
    """The number of words that end at or before a position."""
    return sum(end <= position for end in WORD_ENDS)


@pytest.mark.parametrize("kind", ["good", "stuck", "false", "missing"])
def test_the_heard_position_is_that_of_the_sound(selenium_ruler, kind):
    at_s = [0.05, 0.4, 0.8, 1.2]
    pieces, found, told, first, last = positions(selenium_ruler, TEXT, alignment(kind), at_s, stop=False)
    assert (first, last) == (0, len(TEXT))
    stretches = paused(pieces)
    assert stretches[-1][0] + stretches[-1][1] == FRAMES
    for heard, (position, frames, _) in zip(found, stretches[:-1], strict=True):
        sounded_s = (position + frames + 119) / RATE  # and the fade
        true = sum(end <= sounded_s + 1e-9 for end in truth())
        if kind == "good":
            assert heard == true
        else:
            assert abs(word(heard) - word(true)) <= 1
    assert [heard for heard, _ in told] == sorted({heard for heard, _ in told})
    assert told[-1][0] == len(TEXT)
    assert min(b - a for (_, a), (_, b) in pairwise(told)) >= 50


def test_the_heard_position_after_a_stop_in_the_buffered_tail_is_where_it_stopped(selenium_ruler):
    pieces, _, _, _, last = positions(selenium_ruler, TEXT, alignment("good"), [1.2], stop=True)
    sounded = max(at + frames for _, _, frames, at in pieces) - pieces[0][3]
    true = sum(end <= sounded / RATE for end in truth())
    latency = 0.1 * len(TEXT) / 2  # code points in a tenth of a second, more than the output's latency
    assert true - latency < last <= true
