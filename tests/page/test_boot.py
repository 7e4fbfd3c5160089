"""Starting up: what is sent early waits, and a boot that fails says what failed and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from selenium.webdriver.common.by import By

from tests.page.visit import Visit

VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", ({ blockedURI }) => violations.push(blockedURI));
"""

# Who writes as soon as there is a page: soon Python holds its thread, and who would write from outside comes too late.
WRITING = """
addEventListener("DOMContentLoaded", () => {
  const all = (selector) => Array.from(document.querySelectorAll(selector), (each) => each.textContent).join("\\n");
  const [first, said] = [onetake.inspect(), all("#boot-text")];
  for (const text of ["Hello.", "What time is it?"]) {
    document.getElementById("text").value = text;
    document.getElementById("write").requestSubmit();
  }
  window.atFirst = [first, said, all(".message")];
});
"""

GIVEN_UP_S = 30  # by then a boot that fails has said so

# Each makes one thing fail for the page, as a wrong deployment would; what the page must then say.
FAULTS = {
    "a missing file": (
        """
        const real = window.fetch;
        window.fetch = (url, ...rest) =>
          String(url).endsWith("python_stdlib.zip")
            ? Promise.resolve(new Response("", { status: 404 })) : real(url, ...rest);
        """,
        ["python_stdlib.zip", "404"],
    ),
    "a wrong media type": (
        """
        const real = window.fetch;
        window.fetch = (url, ...rest) =>
          String(url).endsWith("asm.wasm")
            ? Promise.resolve(new Response("", { headers: { "content-type": "text/html" } })) : real(url, ...rest);
        """,
        ["pyodide.asm.wasm", "text/html", "application/wasm"],
    ),
    "a policy that blocks WebAssembly": (
        """
        new MutationObserver((_, observer) => {
          if (!document.head) return;
          observer.disconnect();
          const policy = document.createElement("meta");
          policy.httpEquiv = "Content-Security-Policy";
          policy.content = "script-src 'self'";
          document.head.append(policy);
        }).observe(document, { childList: true, subtree: true });
        """,
        ["blocks WebAssembly"],
    ),
    # Ten times as fast, so that the test does not take as long as it says.
    "a start that hangs": (
        """
        const now = performance.now.bind(performance);
        performance.now = () => 10 * now();
        WebAssembly.instantiateStreaming = WebAssembly.instantiate = () => new Promise(() => {});
        """,
        ["Starting Python", "has not moved"],
    ),
}


class Woken(NamedTuple):
    """A page that was written to while it woke."""

    visit: Visit
    first: dict[str, Any]  # what `inspect()` said at the first paint
    said: str  # about the boot, then
    shown: str  # the messages, then


@pytest.fixture(scope="module")
def woken(server: Any, open_browser: Any) -> Iterator[Woken]:
    with open_browser() as browser:
        browser.before_page(VIOLATIONS)
        browser.before_page(WRITING)
        visit = Visit(browser, server.url, tap=False)
        first, said, shown = visit.driver.execute_script("return window.atFirst")
        visit.until_ready()
        visit.until(lambda: visit.inspect()["length"] > 0, "the messages are answered")
        yield Woken(visit, first, said, shown)


def sent(visit: Visit) -> list[str]:
    """The messages that the server got; one that it was slow to answer may have been sent again, by the same id."""
    requests = [request for request in visit.browser.requests() if request["url"].endswith("/replies")]
    bodies = [json.loads(request["postData"]) for request in requests]
    return list({body["id"]: body["text"] for body in bodies}.values())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_boot_that_fails_says_what_failed_in_time(server: Any, browser: Any, fault: str) -> None:
    browser.forget(server.url)
    browser.before_page(FAULTS[fault][0])
    visit = Visit(browser, server.url, tap=False)
    visit.until(lambda: visit.inspect()["state"] == "failed", "the boot has failed")
    said = visit.text("#boot-text")
    assert [part for part in FAULTS[fault][1] if part not in said] == [], said
    phases = visit.inspect()["boot"]["phases"]
    moved = max((at for phase, at in phases.items() if phase != "failed"), default=0)
    assert phases["failed"] - moved < GIVEN_UP_S * 1000


def test_a_boot_that_fails_keeps_what_was_typed_and_can_be_tried_again(server: Any, browser: Any) -> None:
    browser.forget(server.url)
    fault = browser.before_page(FAULTS["a missing file"][0])
    visit = Visit(browser, server.url, tap=False)
    visit.send("What time is it?")
    visit.driver.find_element(By.ID, "text").send_keys("And then")
    visit.until(lambda: visit.inspect()["state"] == "failed", "the boot has failed")
    browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", fault)
    visit.driver.find_element(By.ID, "again").click()
    visit.until_ready()
    assert visit.driver.find_element(By.ID, "text").get_attribute("value") == "And then"
    visit.until(lambda: visit.inspect()["length"] > 0, "what was sent before is answered")


def test_the_first_paint_takes_messages_and_tells_how_far_the_boot_is(woken: Woken) -> None:
    assert woken.first["state"] == "booting"
    assert woken.said
    assert woken.shown == "Hello.\nWhat time is it?"


def test_what_is_sent_while_the_page_wakes_goes_as_one_message(woken: Woken) -> None:
    assert sent(woken.visit) == ["Hello.\n\nWhat time is it?"]


def test_an_empty_message_is_refused_in_the_page_and_not_sent(woken: Woken) -> None:
    before = sent(woken.visit)
    woken.visit.send("   ")
    assert "write something" in woken.visit.text("#note")
    assert sent(woken.visit) == before


def test_the_page_boots_and_speaks_under_its_own_policy(woken: Woken) -> None:
    assert woken.visit.driver.execute_script("return window.violations") == []
    assert woken.visit.browser.foreign_requests(woken.visit.url) == []
