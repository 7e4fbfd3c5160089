"""When something fails in the middle of a reply: said where it happens, and nothing more is lost than must be."""

from __future__ import annotations

from typing import Any

from tests.page.double import two_units
from tests.page.visit import Visit

#: The first request for speech fails as an engine's failure does (design 6).
FIRST_SPEECH_FAILS = """
let spoken = 0;
const real = window.fetch;
window.fetch = (url, ...rest) =>
  String(url).endsWith("/speech") && spoken++ === 0
    ? Promise.resolve(Response.json(
        { error: { code: "engine_failed", message: "The engine broke." } }, { status: 502 }))
    : real(url, ...rest);
"""

#: The page's clock goes ten times as fast from now on, so that the test does not take as long as it says.
HURRY = "const now = performance.now.bind(performance), begun = now(); performance.now = () => 10 * now() - 9 * begun;"


def test_a_server_that_goes_away_leaves_the_text_and_the_trailing_unit_unspoken(run_server: Any, browser: Any) -> None:
    with run_server() as doomed:
        visit = Visit(browser, doomed.url, tap=False)
        visit.send("Tell me a story.")
        visit.until(lambda: visit.inspect()["length"] > 80, "some text has come")
        visit.driver.execute_script(HURRY)
        doomed.kill()
        seen = visit.until(lambda: (now := visit.inspect())["state"] == "failed" and now, "the page has noticed")
        assert len(visit.text(".reply .stretch")) >= 70
        assert "connection to the server was lost" in visit.text(".trouble")
        assert not seen["final"]
        assert seen["cursor"] < seen["length"]
        assert [unit for unit in seen["units"] if unit["end"] > seen["cursor"]] == []


def test_a_unit_that_cannot_be_spoken_is_marked_and_the_next_is_spoken_and_the_reply_can_be_read_aloud(
    server: Any, browser: Any
) -> None:
    browser.before_page(FIRST_SPEECH_FAILS)
    browser.before_page(two_units("Speak.", "Here is the first part. ", "And the other."))
    visit = Visit(browser, server.url, tap=False)
    visit.until_ready()
    visit.send("Speak.")
    first, second = visit.until_spoken()["units"]
    assert (first["state"], first["error"]["code"]) == ("failed", "engine_failed")
    assert second["state"] == "done"
    assert second["frames_played"] == second["frames_received"] > 0
    said = visit.text(".trouble")
    assert said.startswith("Not spoken: the voice broke (The engine broke). Press “Read aloud”")
    assert visit.driver.find_elements("css selector", ".stretch[data-state=failed]")
    visit.driver.find_element("css selector", ".listen").click()
    visit.until(lambda: len(visit.inspect()["units"]) == 1, "it is read anew")
    (unit,) = visit.until_spoken()["units"]
    assert (unit["state"], unit["text"]) == ("done", "Here is the first part. And the other.")
