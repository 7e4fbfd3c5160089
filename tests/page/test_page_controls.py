"""The page by its keys and its speaking bar: the order of the focus, the text box that keeps its own, and what reaches
the speakers when the voice is paused, skipped, replayed, made softer, muted, made faster or moved to another device."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from tests.page.double import two_units
from tests.page.recording import AUDIBLE, Recording
from tests.page.visit import Visit

# Design 5: one render quantum, then a ramp of at most 10 ms. A click reaches the page's Python before its next frame.
SILENT_WITHIN_S = 0.05
# A pause is told to the audio thread some quanta ahead (player.HOLD_S).
HELD_WITHIN_S = 0.15

#: Notes every status there is from now on.
WATCH_STATUS = """
const status = document.getElementById("status");
window.said = [];
new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true, characterData: true });
"""
#: Takes an output away, as far as the page can tell.
UNPLUG = """
const [lost] = arguments;
const usual = navigator.mediaDevices.enumerateDevices.bind(navigator.mediaDevices);
navigator.mediaDevices.enumerateDevices = async () => (await usual()).filter(({ deviceId }) => deviceId !== lost);
navigator.mediaDevices.dispatchEvent(new Event("devicechange"));
"""

LONG = (
    "Here is the first of the two parts, which goes on for a while, so that there is time for a key or two. "
    "It even has a second sentence. ",
    "And this is the other one, which is no shorter, because somebody may want to hear some of it again.",
)


@pytest.fixture(scope="module")
def visit(server: Any, open_tab: Any) -> Iterator[Visit]:
    with open_tab() as browser:
        browser.before_page(two_units("Speak.", "Here is the first part of it. ", "And the other."))
        browser.before_page(two_units("Speak long.", *LONG))
        visit = Visit(browser, server.url)
        visit.until_ready()
        yield visit


# -- keys ------------------------------------------------------------------------------------------------------


@pytest.fixture
def speaking(visit: Visit) -> Visit:
    """A reply of two units is being spoken, and the focus is in the conversation."""
    visit.send("Speak long.")
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
    examples = ["What is on today?", "Tell me a story."]
    assert order == ["open-settings", "open-help", "main", *examples, "mute", "volume", "text"]


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
    speaking.until_playing(1, seconds=0.05)
    press(speaking, Keys.ARROW_LEFT)
    speaking.until_playing(0, seconds=0.1)
    press(speaking, Keys.ESCAPE)
    until(speaking, "idle")


def test_the_text_box_keeps_every_key(speaking: Visit) -> None:
    press(speaking, "/")
    assert focused(speaking) == "text"
    for key in (" ", "r", "m", "/", "?", Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ESCAPE):
        press(speaking, key)
    assert speaking.driver.find_element("id", "text").get_attribute("value") == " rm/?"
    assert speaking.inspect()["state"] in ("speaking", "listening")
    assert speaking.driver.find_element("id", "mute").get_attribute("aria-pressed") == "false"
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
    assert visit.text("#help dt").split("\n") == ["Space", "Esc", "R", "← →", "M", "/", "?"]
    press(visit, Keys.ESCAPE)
    visit.until(lambda: not visit.driver.find_element("id", "help").is_displayed(), "it is closed")
    assert focused(visit) == "main"


# -- the bar ---------------------------------------------------------------------------------------------------


def speak(visit: Visit) -> float:
    """Have the reply spoken from its start; returns a time of the audio clock before its first sound, or 0."""
    before_s: float = visit.driver.execute_script("return window.sound.context?.currentTime ?? 0")
    visit.send("Speak.")
    visit.until_playing(0, seconds=0.3)
    return before_s


def whole(seen: dict[str, Any]) -> bool:
    """Both units have been played to their last frame."""
    return [unit["state"] for unit in seen["units"]] == ["done", "done"] and all(
        unit["frames_played"] == unit["frames_received"] > 0 for unit in seen["units"]
    )


def take(recording: Recording) -> np.ndarray[Any, Any]:
    """What sounded, from the first audible sample to the last."""
    loud = np.flatnonzero(np.abs(recording.samples) > AUDIBLE)
    return recording.samples[loud[0] : loud[-1] + 1]


def seconds_of(seen: dict[str, Any]) -> float:
    return float(sum(unit["frames_received"] / unit["rate"] for unit in seen["units"]))


def choose(visit: Visit, field: str, value: float) -> None:
    """Move a slider."""
    visit.driver.execute_script(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', { bubbles: true }));",
        field,
        value,
    )


def test_a_pause_is_silent_and_loses_nothing(visit: Visit) -> None:
    begun_s = speak(visit)
    paused_s = visit.press("pause")
    visit.until(lambda: visit.clock_s() > paused_s + 0.6, "half a second of pause")
    resumed_s = visit.press("pause")
    seen = visit.until_spoken()
    assert whole(seen)
    recording = visit.recording()
    assert recording.between(paused_s + HELD_WITHIN_S, resumed_s).audible_s() == []
    first_s, last_s = recording.between(begun_s).audible_s()
    held_s = resumed_s - paused_s
    assert last_s - first_s == pytest.approx(seconds_of(seen) + held_s, abs=0.3)


def test_a_skip_is_silent_at_once_and_the_next_part_is_heard(visit: Visit) -> None:
    speak(visit)
    skipped_s = visit.press("skip")
    seen = visit.until_spoken()
    assert [unit["state"] for unit in seen["units"]] == ["dropped", "done"]
    second = seen["units"][1]
    after = take(visit.recording().between(skipped_s + SILENT_WITHIN_S))
    assert len(after) / second["rate"] == pytest.approx(second["frames_received"] / second["rate"], abs=0.15)


def test_a_replay_is_the_same_take_as_loud_as_the_slider_says_and_silent_while_muted(visit: Visit) -> None:
    """The second part, three times: as it came, at half the volume, and muted, which a move of the slider ends."""
    heard = []
    asked = len(visit.speech_requests())
    for volume, mute in ((None, False), (0.5, False), (None, True)):
        if volume is not None:
            choose(visit, "volume", volume)
        if mute:
            visit.press("mute")
        begun_s = visit.press("replay")
        visit.until(lambda: visit.inspect()["state"] == "speaking", "it sounds")
        visit.until_spoken()
        ended_s = visit.clock_s()
        visit.until(lambda end_s=ended_s: visit.clock_s() > end_s + 0.1, "all of it is recorded")  # type: ignore[misc]
        heard.append(visit.recording().between(begun_s))
    usual, half, muted = heard
    first = take(usual)
    assert len(first) > 0.5 * usual.rate
    softer = half.samples[np.flatnonzero(np.abs(half.samples) > AUDIBLE / 2)[0] :][: len(first)]
    assert np.allclose(softer, first / 2, atol=1e-4)
    assert muted.audible_s() == []
    assert visit.driver.find_element("id", "mute").get_attribute("aria-pressed") == "true"
    choose(visit, "volume", 1)
    assert visit.driver.find_element("id", "mute").get_attribute("aria-pressed") == "false"
    assert len(visit.speech_requests()) == asked


def test_the_key_m_mutes_and_brings_the_sound_back(visit: Visit) -> None:
    main, mute = visit.driver.find_element("id", "main"), visit.driver.find_element("id", "mute")
    for pressed in ("true", "false"):
        main.send_keys("m")
        assert mute.get_attribute("aria-pressed") == pressed
    assert json.loads(visit.driver.execute_script("return localStorage['onetake.settings']"))["muted"] is False


def test_the_voice_speaks_as_fast_as_the_listener_likes_from_the_next_part_on(visit: Visit) -> None:
    usual_s = seconds_of(visit.inspect())
    choose(visit, "speed", 2)
    assert visit.driver.find_element("id", "speed-value").get_attribute("textContent") == "2×"
    begun_s = speak(visit)
    seen = visit.until_spoken()
    choose(visit, "speed", 1)
    bodies = [json.loads(request["postData"]) for request in visit.speech_requests()]
    assert [body.get("speed") for body in bodies[-2:]] == [2, 2]
    assert "speed" not in bodies[-3]
    first_s, last_s = visit.recording().between(begun_s).audible_s()
    assert last_s - first_s == pytest.approx(seconds_of(seen), abs=0.3)
    # "Here is the first part of it." and "And the other.", of which only the second was replayed since.
    assert seconds_of(seen) < 0.75 * usual_s


def test_the_sound_goes_on_at_the_device_that_is_chosen_and_its_loss_pauses(visit: Visit) -> None:
    visit.driver.execute_script(WATCH_STATUS)
    speak(visit)
    visit.driver.find_element("id", "open-settings").click()
    choice = visit.driver.find_element("id", "device")
    visit.until(choice.is_displayed, "outputs are offered")
    offered = choice.find_elements("tag name", "option")
    assert [option.text for option in offered] == ["As the system", "Fake Audio Output 1", "Fake Audio Output 2"]
    offered[1].click()
    device = offered[1].get_attribute("value")
    visit.until(lambda: visit.driver.execute_script("return sound.context.sinkId") == device, "it plays there")
    visit.driver.find_element("css selector", "#choices > button").click()
    assert whole(visit.until_spoken())
    assert not any("tap" in said for said in visit.driver.execute_script("return said"))

    speak(visit)
    visit.driver.execute_script(UNPLUG, device)
    visit.until(lambda: visit.inspect()["state"] == "paused", "it is paused")
    visit.until(lambda: visit.driver.execute_script("return sound.context.sinkId") == "", "the usual output is back")
    visit.press("pause")
    assert whole(visit.until_spoken())


def test_a_page_in_the_background_speaks_on_without_a_gap(visit: Visit) -> None:
    visit.driver.execute_script(
        "window.seen = []; document.addEventListener('visibilitychange', () => seen.push(document.visibilityState));"
    )
    begun_s = speak(visit)
    page = visit.driver.current_window_handle
    visit.driver.switch_to.new_window("tab")
    visit.driver.execute_async_script("setTimeout(arguments[0], 1500)")  # what is hidden is hidden for a while
    visit.driver.close()
    visit.driver.switch_to.window(page)
    assert visit.driver.execute_script("return seen[0]") == "hidden"
    seen = visit.until_spoken()
    assert whole(seen)
    assert seen["counts"]["underruns"] == 0
    first_s, last_s = visit.recording().between(begun_s).audible_s()
    assert last_s - first_s == pytest.approx(seconds_of(seen), abs=0.3)
