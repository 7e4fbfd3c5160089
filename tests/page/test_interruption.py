"""Stop and Regenerate: the old voice is silent at once and never comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.double import two_units
from tests.page.recording import shared_in_order, words_of
from tests.page.visit import Visit

# Design 5: one render quantum, then a ramp of at most 10 ms. A click reaches the page's Python before its next frame.
SILENT_WITHIN_S = 0.05

LONG = "Tell me a story."
SHORT = "Be short."


@pytest.fixture(scope="module")
def visit(server: Any, open_tab: Any) -> Iterator[Visit]:
    with open_tab() as browser:
        browser.before_page(two_units(SHORT, "Let me look at the clock for you. ", "Time to go for a walk."))
        visit = Visit(browser, server.url)
        visit.until_ready()
        yield visit


def test_regenerate_amid_speech_lets_nothing_of_the_old_take_be_heard(visit: Visit) -> None:
    visit.send(LONG)
    visit.until_playing(0, seconds=0.4)
    pressed_s = visit.press("regenerate")
    visit.until(lambda: (now := visit.inspect())["generation"] == 2 and now["units"], "a second take")
    visit.until_playing(0, seconds=1.5)
    after = visit.recording().between(pressed_s + SILENT_WITHIN_S)
    new_s = after.audible_s()[0]
    # Silence from the press until the new take's first sound, which needs new text and its own synthesis first.
    assert new_s > pressed_s + 0.3
    said = words_of(visit.inspect()["units"][0]["text"])
    heard = after.words()
    assert shared_in_order(heard, said) > 0.5, (heard, said)


def test_stop_amid_speech_is_silent_and_stays_silent(visit: Visit) -> None:
    visit.send(LONG)
    visit.until_playing(0, seconds=0.4)
    pressed_s = visit.press("stop")
    visit.until(lambda: visit.clock_s() > pressed_s + 1, "a second more on the audio clock")
    assert visit.recording().between(pressed_s + SILENT_WITHIN_S).audible_s() == []


def test_what_was_heard_before_a_stop_is_told_to_the_server(visit: Visit) -> None:
    visit.send(LONG)
    visit.until_playing(0, seconds=0.8)
    told = len([request for request in visit.browser.requests() if request["url"].endswith("/heard")])
    visit.press("stop")
    seen = visit.inspect()
    heard = visit.until(
        lambda: [request for request in visit.browser.requests() if request["url"].endswith("/heard")][told:],
        "the server is told",
    )
    assert 0 < seen["heard"] < seen["units"][0]["end"]
    assert json.loads(heard[0]["postData"]) == {"at": seen["heard"], "generation": 1}


def test_a_new_message_silences_the_reply_before_it(visit: Visit) -> None:
    visit.send(LONG)
    visit.until_playing(0, seconds=0.4)
    sent_s = visit.send(SHORT)
    seen = visit.until_spoken()
    said = words_of(" ".join(unit["text"] for unit in seen["units"]))
    heard = visit.recording().between(sent_s + SILENT_WITHIN_S).words()
    assert shared_in_order(heard, said) > 0.8, (heard, said)
    assert shared_in_order(said, heard) > 0.8, (heard, said)
