"""The page by keyboard alone: the order of the focus, the keys, and the text box that keeps its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.page.visit import Visit


@pytest.fixture(scope="module")
def visit(server: Any, open_browser: Any) -> Iterator[Visit]:
    with open_browser() as browser:
        visit = Visit(browser, server.url)
        visit.until_ready()
        yield visit


@pytest.fixture
def speaking(visit: Visit) -> Visit:
    """A reply of two units is being spoken, and the focus is in the conversation."""
    visit.send("What is on today?")
    visit.driver.execute_script("document.getElementById('main').focus()")
    visit.until_playing(0, seconds=0.2)
    return visit


def press(visit: Visit, key: str) -> None:
    visit.driver.switch_to.active_element.send_keys(key)


def focused(visit: Visit) -> str:
    name = "const element = document.activeElement; return element.id || element.textContent.trim()"
    found: str = visit.driver.execute_script(name)
    return found


def until(visit: Visit, state: str) -> None:
    visit.until(lambda: visit.inspect()["state"] == state, f"the voice is {state}")


def test_the_focus_begins_in_the_text_box_and_goes_through_the_page_in_reading_order(visit: Visit) -> None:
    assert focused(visit) == "text"
    press(visit, Keys.TAB)
    assert focused(visit) == "Send"
    visit.driver.execute_script("document.getElementById('open-settings').focus()")
    order = [focused(visit)]
    while order[-1] != "text":
        press(visit, Keys.TAB)
        order.append(focused(visit))
    assert order == ["open-settings", "open-help", "main", "volume", "text"]


def test_what_has_the_focus_can_be_seen(visit: Visit) -> None:
    for element in ("open-settings", "main", "volume", "text"):
        visit.driver.execute_script("document.getElementById(arguments[0]).focus()", element)
        press(visit, Keys.SHIFT)  # the browser shows the focus to those who use keys
        outline = "return getComputedStyle(document.activeElement)"
        assert visit.driver.execute_script(f"{outline}.outlineStyle") == "solid", element
        assert visit.driver.execute_script(f"return parseFloat({outline.removeprefix('return ')}.outlineWidth)") >= 2


def test_space_pauses_and_goes_on_and_escape_stops(speaking: Visit) -> None:
    press(speaking, " ")
    until(speaking, "paused")
    press(speaking, " ")
    until(speaking, "speaking")
    press(speaking, Keys.ESCAPE)
    until(speaking, "idle")
    assert speaking.text("#status") == "Stopped"


def test_arrows_go_from_unit_to_unit_and_r_begins_one_again(speaking: Visit) -> None:
    press(speaking, Keys.ARROW_RIGHT)
    speaking.until_playing(1, seconds=0.6)
    press(speaking, "r")
    speaking.until(
        lambda: (unit := speaking.inspect()["units"][1])["frames_played"] < 0.5 * unit["rate"], "it has begun again"
    )
    speaking.until_playing(1, seconds=0.1)
    press(speaking, Keys.ARROW_LEFT)
    speaking.until_playing(0, seconds=0.1)
    press(speaking, Keys.ESCAPE)
    until(speaking, "idle")


def test_the_text_box_keeps_every_key(speaking: Visit) -> None:
    press(speaking, "/")
    assert focused(speaking) == "text"
    for key in (" ", "r", "/", "?", Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ESCAPE):
        press(speaking, key)
    assert speaking.driver.find_element("id", "text").get_attribute("value") == " r/?"
    assert speaking.inspect()["state"] in ("speaking", "listening")
    speaking.driver.find_element("id", "text").clear()
    speaking.press("stop")
    until(speaking, "idle")


def test_a_button_that_can_no_longer_be_pressed_does_not_keep_the_focus(speaking: Visit) -> None:
    speaking.driver.execute_script("document.getElementById('stop').focus()")
    press(speaking, Keys.ENTER)
    until(speaking, "idle")
    speaking.until(lambda: focused(speaking) == "main", "the focus is in the conversation")


def test_the_help_sheet_lists_the_keys_and_closes_by_escape(visit: Visit) -> None:
    visit.driver.execute_script("document.getElementById('main').focus()")
    press(visit, "?")
    assert visit.text("#help dt").split("\n") == ["Space", "Esc", "R", "← →", "/", "?"]
    press(visit, Keys.ESCAPE)
    visit.until(lambda: not visit.driver.find_element("id", "help").is_displayed(), "it is closed")
    assert focused(visit) == "main"
