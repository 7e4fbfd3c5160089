"""When something fails in the middle of a reply: said where it happens, and nothing more is lost than must be."""

from __future__ import annotations

from typing import Any

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


def test_a_unit_that_cannot_be_spoken_is_marked_and_the_next_is_spoken(server: Any, browser: Any) -> None:
    browser.before_page(FIRST_SPEECH_FAILS)
    visit = Visit(browser, server.url)
    visit.send("What is on today?")
    first, second = visit.until_spoken()["units"]
    assert (first["state"], first["error"]["code"]) == ("failed", "engine_failed")
    assert second["state"] == "done"
    assert second["frames_played"] == second["frames_received"] > 0
    assert "The engine broke." in visit.text(".trouble")
    assert visit.driver.find_elements("css selector", ".stretch[data-state=failed]")


def test_a_server_that_goes_away_leaves_the_text_and_the_trailing_unit_unspoken(run_server: Any, browser: Any) -> None:
    with run_server() as doomed:
        visit = Visit(browser, doomed.url)
        visit.send("Tell me a story.")
        visit.until(lambda: visit.inspect()["length"] > 80, "some text has come")
        doomed.kill()
        seen = visit.until(lambda: (now := visit.inspect())["state"] == "failed" and now, "the page has noticed")
        assert len(visit.text(".reply .stretch")) >= 70
        assert "connection to the server was lost" in visit.text(".trouble")
        assert not seen["final"]
        assert seen["cursor"] < seen["length"]
        assert [unit for unit in seen["units"] if unit["end"] > seen["cursor"]] == []
