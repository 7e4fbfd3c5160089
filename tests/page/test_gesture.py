"""A browser that holds audio back until a gesture: the page says so, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.double import two_units
from tests.page.recording import shared_in_order, words_of
from tests.page.visit import Visit

UNITS = ("One moment, I will look at the clock. ", "It is time to go for a walk in the garden.")


@pytest.fixture(scope="module")
def blocked(server: Any, open_tab: Any) -> Iterator[Visit]:
    """A reply that was begun without a gesture, as after a reload, and is ready to be heard."""
    with open_tab() as browser:
        browser.before_page(two_units("Speak.", *UNITS))
        visit = Visit(browser, server.url)
        visit.until_ready()
        visit.driver.execute_script(
            "document.getElementById('text').value = 'Speak.'; document.getElementById('write').requestSubmit();"
        )
        visit.until(lambda: visit.inspect()["state"] == "blocked", "the page is blocked")
        yield visit


def test_held_back_audio_is_a_visible_state_with_a_button(blocked: Visit) -> None:
    assert blocked.driver.find_element("id", "hear").is_displayed()
    assert "until you tap" in blocked.text("#status")


def test_after_the_tap_the_voice_begins_at_the_first_sample(blocked: Visit) -> None:
    blocked.until(lambda: blocked.inspect()["units"][0]["frames_received"] > 0, "audio is here")
    assert blocked.inspect()["heard"] == 0
    blocked.press("hear")
    seen = blocked.until_spoken()
    assert [unit["frames_played"] - unit["frames_received"] for unit in seen["units"]] == [0, 0]
    assert shared_in_order(words_of("".join(UNITS)), blocked.recording().words()) > 0.8
    assert len(blocked.speech_requests()) == 2
