"""What the page keeps, and leaves to the listener: reloads, settings, and replies that are written to be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.double import answers
from tests.page.visit import Visit

WRITTEN = "One paragraph.\n\nAnother one.\n\n```card\n| a |\n|---|\n| b |\n```\n\nThe last."
EVENTS = [("delta", {"text": WRITTEN}), ("final", {"length": len(WRITTEN)})]
ANEW = "A new one.\n\nThe end."
REWRITTEN = [
    ("delta", {"text": "An old one.\n\nAnd another.\n\n"}),
    ("reset", {"generation": 2, "at": 0}),
    ("delta", {"generation": 2, "text": ANEW}),
    ("final", {"generation": 2, "length": len(ANEW)}),
]

#: The server has two voices, as far as the page can tell.
ANOTHER_VOICE = """
const real = window.fetch;
window.fetch = async (url, ...rest) => {
  const response = await real(url, ...rest);
  if (!String(url).endsWith("/voices")) return response;
  const [voice] = await response.json();
  return Response.json([voice, { ...voice, id: "other", name: "Another" }]);
};
"""


@pytest.fixture(scope="module")
def visit(server: Any, open_tab: Any) -> Iterator[Visit]:
    with open_tab() as browser:
        browser.before_page(answers({"Write.": EVENTS, "Rewrite.": REWRITTEN}))
        browser.before_page(ANOTHER_VOICE)
        visit = Visit(browser, server.url)
        visit.until_ready()
        yield visit


def choose(visit: Visit, name: str, on: bool) -> None:
    visit.driver.find_element("id", "open-settings").click()
    box = visit.driver.find_element("name", name)
    if box.is_selected() != on:
        box.click()
    visit.driver.find_element("css selector", "#choices > button").click()


def until_done(visit: Visit) -> dict[str, Any]:
    visit.until(lambda: visit.text("#status") == "Done", "it is done")
    return visit.inspect()


def test_a_written_reply_is_shown_and_not_spoken_until_the_listener_asks_for_it_as_one_take(visit: Visit) -> None:
    choose(visit, "spoken", False)
    visit.send("Write.")
    visit.until(lambda: visit.driver.find_elements("css selector", ".listen:not([hidden])"), "it can be read aloud")
    assert visit.inspect()["units"] == []
    assert visit.driver.execute_script("return CSS.highlights.get('unheard').size") == 0
    before = visit.inspect()["counts"]["syntheses"]
    visit.driver.find_element("css selector", ".listen:not([hidden])").click()
    visit.until(lambda: visit.inspect()["final"] and visit.inspect()["units"], "it is read")
    seen = until_done(visit)
    assert [(unit["state"], unit["start"], unit["end"]) for unit in seen["units"]] == [("done", 0, len(WRITTEN))]
    assert seen["counts"]["syntheses"] - before == 1
    assert seen["heard"] == len(WRITTEN)


def test_a_whole_written_reply_is_told_to_a_screen_reader_once(visit: Visit) -> None:
    told = visit.driver.find_element("id", "announcement").get_attribute("textContent")
    assert "Another one." in told


def test_a_spoken_reply_is_told_to_a_screen_reader_only_if_the_listener_wants_both(visit: Visit) -> None:
    choose(visit, "spoken", True)
    told = []
    for apart in (True, False, True):
        choose(visit, "apart", apart)
        visit.send("Write.")
        visit.until(lambda: visit.inspect()["final"] and visit.inspect()["state"] != "idle", "it is written")
        told.append(visit.driver.find_element("id", "announcement").get_attribute("textContent"))
        visit.press("stop")
    assert ["Another one." in text for text in told] == [False, True, False]
    choose(visit, "spoken", False)


def test_a_written_reply_can_be_read_by_paragraphs_as_it_comes(visit: Visit) -> None:
    choose(visit, "paragraphs", True)
    visit.send("Write.")
    visit.until(lambda: visit.inspect()["final"] and visit.inspect()["units"], "it is read")
    seen = until_done(visit)
    assert [unit["text"] for unit in seen["units"]] == ["One paragraph.", "Another one.", "The last."]


def test_a_written_reply_that_is_written_anew_is_read_anew_and_nothing_of_the_old_one(visit: Visit) -> None:
    begun_s = visit.clock_s()
    visit.send("Rewrite.")
    visit.until(lambda: visit.inspect()["final"] and visit.inspect()["units"], "it is read")
    seen = until_done(visit)
    assert [(unit["generation"], unit["text"]) for unit in seen["units"]] == [(2, "A new one."), (2, "The end.")]
    first_s, last_s = visit.recording().between(begun_s).audible_s()
    received_s = sum(unit["frames_received"] / unit["rate"] for unit in seen["units"])
    assert last_s - first_s < received_s + 0.5
    choose(visit, "paragraphs", False)


def test_the_server_is_told_that_the_reply_is_to_be_read(visit: Visit) -> None:
    visit.send("What time is it?")
    visit.until(lambda: visit.inspect()["state"] == "idle" and visit.text("#status") == "Done", "it is written")
    sent = [request for request in visit.browser.requests() if request["url"].endswith("/replies")]
    assert json.loads(sent[-1]["postData"])["spoken"] is False
    assert visit.inspect()["units"] == []


def test_a_reload_loses_nothing_and_speaks_nothing_again(visit: Visit) -> None:
    choose(visit, "spoken", True)
    visit.send("Hello.")
    visit.until_playing(0, seconds=0.2)
    visit.until(lambda: visit.inspect()["final"], "it is written")
    last = "return [...document.querySelectorAll('.reply')].at(-1)?.innerText"
    written = visit.driver.execute_script(last)
    speech = len(visit.speech_requests())
    visit.driver.refresh()
    visit.until_ready()
    visit.until(lambda: visit.driver.execute_script(last) == written, "the last reply is there again")
    assert visit.text(".message").split("\n")[-2:] == ["What time is it?", "Hello."]
    below = "const box = document.getElementById('main'); return box.scrollHeight - box.scrollTop - box.clientHeight"
    visit.until(lambda: visit.driver.execute_script(below) < 2, "its end is in view")
    assert (visit.inspect()["state"], visit.inspect()["counts"]["syntheses"]) == ("idle", 0)
    assert len(visit.speech_requests()) == speech
    visit.send("What time is it?")
    visit.until(lambda: visit.inspect()["length"] > 0, "the conversation goes on")
    sent = [request for request in visit.browser.requests() if request["url"].endswith("/replies")]
    before, after = (json.loads(request["postData"]) for request in sent[-2:])
    assert after["conversation"] == before["conversation"]
    visit.press("stop")


def test_a_sample_of_the_voice_can_be_heard(visit: Visit) -> None:
    visit.driver.find_element("id", "open-settings").click()
    begun_s = visit.clock_s()
    visit.driver.find_element("id", "sample").click()
    visit.until(lambda: visit.recording().between(begun_s).audible_s(), "it sounds")
    assert "This is how I sound" in visit.speech_requests()[-1]["postData"]
    visit.driver.find_element("css selector", "#choices > button").click()


def test_another_voice_speaks_from_the_next_message_on(visit: Visit) -> None:
    visit.driver.find_element("id", "open-settings").click()
    visit.driver.find_element("css selector", "#voice option[value=other]").click()
    visit.driver.find_element("css selector", "#choices > button").click()
    before = visit.inspect()["counts"]["syntheses"]
    visit.send("What time is it?")
    visit.until(lambda: visit.inspect()["counts"]["syntheses"] > before, "it speaks")
    visit.until(lambda: json.loads(visit.speech_requests()[-1]["postData"])["voice"] == "other", "by the other voice")


def test_losing_the_network_is_said_and_taken_back(visit: Visit) -> None:
    unlimited = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    visit.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **unlimited})
    visit.until(lambda: "You are offline" in visit.text("#net"), "the page tells")
    visit.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **unlimited})
    visit.until(lambda: visit.text("#net") == "", "the page takes it back")
