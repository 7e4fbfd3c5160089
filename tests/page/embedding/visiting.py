"""A visit to a page of somebody else: what runs in it, what it holds, and what came out of the speakers."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.page.embedding.host import File, script
from tests.page.recording import TAP, decode, shared_in_order, words_of
from tests.page.visit import PATIENCE_S

# The tap's worklet comes from the site, as its policy wants; and what has to be given back is kept count of.
WATCH = """
const { connect } = AudioNode.prototype;
window.untap = () => Object.assign(AudioNode.prototype, { connect });
const add = AudioWorklet.prototype.addModule;
AudioWorklet.prototype.addModule = function (url) { return add.call(this, url.startsWith("data:") ? "/tap.js" : url); };
window.contexts = [];
window.AudioContext = class extends AudioContext { constructor(...given) { super(...given); contexts.push(this); } };
window.violations = [];
addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective + event.blockedURI));
window.timers = new Set();
const { setInterval, clearInterval } = window;
window.setInterval = (...given) => { const timer = setInterval(...given); timers.add(timer); return timer; };
window.clearInterval = (timer) => { timers.delete(timer); clearInterval(timer); };
"""


def tap_file() -> File:
    """What the site has to serve as /tap.js."""
    (processor,) = re.findall(r"const processor = `(.*?)`;", TAP.read_text(encoding="utf-8"), re.DOTALL)
    return script(processor)


class Page:
    """A page in a tab of its own, with a tap on its sound."""

    def __init__(self, browser: Any, url: str) -> None:
        self.browser = browser
        self.driver = browser.driver
        self.driver.set_script_timeout(PATIENCE_S)
        self.driver.switch_to.new_window("tab")
        self._tab = self.driver.current_window_handle
        for code in (WATCH, TAP.read_text(encoding="utf-8")):
            browser.before_page(code)
        self.driver.get(url)

    def to_front(self) -> Page:
        """What follows happens in this tab."""
        self.driver.switch_to.window(self._tab)
        self.driver.execute_cdp_cmd("Page.bringToFront", {})
        return self

    def run(self, code: str) -> Any:
        """Run the body of an async function in the page; fails with what it throws."""
        kind, value = self.driver.execute_async_script(
            f"const done = arguments[0]; (async () => {{ {code} }})()"
            ".then((value) => done(['value', value]), (error) => done(['error', String(error)]))"
        )
        if kind == "error":
            pytest.fail(f"{value}, in: {code}", pytrace=False)
        return value

    def value(self, expression: str) -> Any:
        """What an expression is in the page now."""
        return self.driver.execute_script(f"return ({expression})")

    def until(self, expression: str) -> Any:
        """Wait until an expression is true in the page; its value."""
        limit = time.monotonic() + PATIENCE_S
        while not (met := self.value(expression)):
            if time.monotonic() > limit:
                said = self.browser.console_errors()
                pytest.fail(f"not within {PATIENCE_S} s: {expression}; the console says {said}", pytrace=False)
            time.sleep(0.02)  # between two looks at the page
        return met

    def click(self) -> None:
        """A gesture that does nothing else."""
        self.driver.find_element(By.TAG_NAME, "body").click()

    def heard_share(self, text: str) -> float:
        """Which share of the words of `text` came out of the speakers, in their order."""
        return shared_in_order(words_of(text), decode(self.value("sound.read()")).words())
