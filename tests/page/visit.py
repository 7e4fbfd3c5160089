"""One visit to the page: what a person does there, and what can be seen and heard."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.page.recording import TAP, Recording, decode

PATIENCE_S = 120  # how long anything may take on a busy machine before the test gives up


class Visit:
    """The page at `url`, opened in `browser` (see conftest.py), with a tap on its sound unless told otherwise."""

    def __init__(self, browser: Any, url: str, tap: bool = True) -> None:
        self.browser = browser
        self.driver = browser.driver
        self.url = url
        if tap:
            browser.before_page(TAP.read_text(encoding="utf-8"))
            # The tap's worklet is no file of ours; the policy has tests of its own, without a tap.
            self.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        self.driver.get(url)

    # -- what a person does --------------------------------------------------------------------

    def send(self, text: str) -> float:
        """Write and send a message; returns when, on the audio clock (0 where there is none yet, or no tap)."""
        self.driver.find_element(By.ID, "text").send_keys(text)
        self.driver.find_element(By.CSS_SELECTOR, "#write button").click()
        sent: float = self.driver.execute_script("return window.sound?.pressed.submit ?? 0")
        return sent

    def press(self, name: str) -> float:
        """Press the button of that id; returns when, on the audio clock."""
        self.until(lambda: self.driver.find_element(By.ID, name).is_enabled(), f"#{name} can be pressed")
        self.driver.find_element(By.ID, name).click()
        pressed: float = self.driver.execute_script("return window.sound.pressed[arguments[0]]", name)
        return pressed

    # -- what is to be seen and heard ----------------------------------------------------------

    def inspect(self) -> dict[str, Any]:
        found: dict[str, Any] = self.driver.execute_script("return window.onetake.inspect()")
        return found

    def text(self, selector: str) -> str:
        """The text of every element of that kind, a line each; "" if there is none."""
        return "\n".join(element.text for element in self.driver.find_elements(By.CSS_SELECTOR, selector))

    def recording(self) -> Recording:
        return decode(self.driver.execute_script("return window.sound.read()"))

    def clock_s(self) -> float:
        now: float = self.driver.execute_script("return window.sound.context.currentTime")
        return now

    def speech_requests(self) -> list[dict[str, Any]]:
        return [request for request in self.browser.requests() if request["url"] == f"{self.url}speech"]

    def until(self, condition: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
        """Wait until `condition()` is true and return it; fail, saying what was awaited and what is, otherwise."""
        limit = time.monotonic() + patience_s
        while not (met := condition()):
            if time.monotonic() > limit:
                pytest.fail(f"not within {patience_s:g} s: {what}. It is: {self.inspect()}", pytrace=False)
            time.sleep(0.02)  # between two looks at the page; nothing is assumed to have happened by then
        return met

    def until_ready(self) -> None:
        self.until(lambda: self.inspect()["state"] != "booting", "the page is ready")

    def until_spoken(self, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until the reply is whole and every unit has ended."""
        found: dict[str, Any] = self.until(
            lambda: (seen := self.inspect())["state"] == "idle" and seen["final"] and seen,
            "the reply is spoken",
            patience_s,
        )
        return found

    def until_playing(self, unit: int, seconds: float = 0.0) -> dict[str, Any]:
        """Wait until `seconds` of that unit have been heard."""

        def playing() -> dict[str, Any] | None:
            units = self.inspect()["units"]
            if len(units) <= unit or units[unit]["state"] != "playing":
                return None
            found: dict[str, Any] = units[unit]
            return found if found["frames_played"] >= seconds * found["rate"] else None

        found: dict[str, Any] = self.until(playing, f"unit {unit} has played {seconds} s")
        return found
