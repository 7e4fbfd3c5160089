"""A reply with a tool call in the middle is spoken as two whole takes, and looks as it was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from selenium.webdriver.common.by import By

from tests.page.recording import Recording, shared_in_order, words_of
from tests.page.visit import Visit


class Session(NamedTuple):
    """What one reply left behind once it was spoken."""

    visit: Visit
    seen: dict[str, Any]
    recording: Recording
    speech: list[dict[str, Any]]


@pytest.fixture(scope="module")
def session(server: Any, open_tab: Any) -> Iterator[Session]:
    with open_tab() as browser:
        visit = Visit(browser, server.url)
        visit.send("What time is it?")  # before Python is there: it waits, then goes
        seen = visit.until_spoken()
        yield Session(visit, seen, visit.recording(), visit.speech_requests())


def test_each_unit_is_one_request(session: Session) -> None:
    assert [unit["requests"] for unit in session.seen["units"]] == [1, 1]
    assert len(session.speech) == 2
    assert session.seen["counts"]["syntheses"] == 2


def test_the_units_tile_the_reply(session: Session) -> None:
    first, second = session.seen["units"]
    assert (first["start"], first["end"], second["end"]) == (0, second["start"], session.seen["length"])


def test_every_unit_is_played_to_its_last_frame(session: Session) -> None:
    for unit in session.seen["units"]:
        assert unit["state"] == "done"
        assert unit["frames_played"] == unit["frames_received"] > 0


def test_the_words_are_heard_in_order(session: Session) -> None:
    said = words_of(" ".join(unit["text"] for unit in session.seen["units"]).replace("[softly]", ""))
    assert shared_in_order(said, session.recording.words()) > 0.8


def test_the_sound_is_as_long_as_the_audio_received(session: Session) -> None:
    start_s, end_s = session.recording.audible_s()
    first, second = session.seen["units"]
    pause_s = (second["times"]["first_sound"] - first["times"]["ended"]) / 1000
    received_s = sum(unit["frames_received"] / unit["rate"] for unit in session.seen["units"])
    assert end_s - start_s == pytest.approx(received_s + pause_s, abs=0.3)


def test_all_of_the_reply_has_been_heard(session: Session) -> None:
    assert session.seen["heard"] == session.seen["length"]


def test_the_text_is_shown_without_its_marks(session: Session) -> None:
    shown = session.visit.text(".reply")
    assert "clock" in shown
    assert "emotion" not in shown
    assert "```" not in shown
    assert "[softly]" not in shown


def test_the_card_is_drawn_as_a_table(session: Session) -> None:
    assert session.visit.driver.find_elements(By.CSS_SELECTOR, ".reply .card table td")


def test_the_tool_is_named_between_the_units(session: Session) -> None:
    kinds = [
        element.get_attribute("class")
        for element in session.visit.driver.find_elements(By.CSS_SELECTOR, ".reply > *")
    ]
    assert kinds == ["stretch", "tool", "stretch"]
    assert session.visit.text(".reply .tool .name") == "clock"


def test_the_emotion_is_known(session: Session) -> None:
    assert session.seen["units"][1]["emotion"]


def test_nothing_comes_from_another_origin(session: Session) -> None:
    assert session.visit.browser.foreign_requests(session.visit.url) == []


def test_the_console_stays_free_of_errors(session: Session) -> None:
    assert session.visit.browser.console_errors() == []
