"""A connection that breaks costs neither a word nor a unit, and nothing comes twice."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.page.network import Network, network
from tests.page.recording import shared_in_order, words_of
from tests.page.visit import Visit

#: The page's clock goes ten times as fast from now on, so that it gives up sooner than it says.
HURRY = "const now = performance.now.bind(performance), begun = now(); performance.now = () => 10 * now() - 9 * begun;"


@pytest.fixture(scope="module")
def browser(open_tab: Any) -> Iterator[Any]:
    """One for the module: each test comes by a network of its own, and so to a page that it has not seen."""
    with open_tab() as browser:
        yield browser


@pytest.fixture
def between(server: Any) -> Iterator[Network]:
    with network(server.url) as between:
        yield between


def status(visit: Visit) -> str:
    return visit.text("#status")


def asked(visit: Visit, method: str, end: str) -> list[dict[str, Any]]:
    """The page's requests of that method to addresses that end so."""
    of_visit = [each for each in visit.browser.requests() if each["url"].startswith(visit.url)]
    return [each for each in of_visit if each["method"] == method and each["url"].endswith(end)]


def reply_id(visit: Visit) -> str:
    """As the page chose it when it sent the message."""
    found: str = json.loads(asked(visit, "POST", "/replies")[-1]["postData"])["id"]
    return found


def events(url: str, reply: str) -> list[tuple[int, str, dict[str, Any]]]:
    """The whole log of a reply that has ended: number, name and payload of each event."""
    with urllib.request.urlopen(f"{url}replies/{reply}/events") as answer:
        blocks = answer.read().decode().strip().split("\n\n")
    found = []
    for block in blocks:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def test_a_reply_whose_connection_is_cut_after_every_event_is_spoken_once_and_whole(
    between: Network, server: Any, browser: Any
) -> None:
    visit = Visit(browser, between.url)
    visit.until_ready()
    between.events_per_connection = 1
    visit.send("What time is it?")
    seen = visit.until_spoken(patience_s=300)  # eighty connections, one after the other
    log = events(server.url, reply_id(visit))
    text = "".join(payload["text"] for _, name, payload in log if name == "delta")
    after = {int(each["headers"]["last-event-id"]) for each in asked(visit, "GET", "/events")}
    # 0: a connection that broke before its first event.
    assert after - {0} == set(range(1, len(log)))
    assert seen["length"] == len(text)
    first, second = seen["units"]
    assert (first["start"], first["end"], second["end"]) == (0, second["start"], len(text))
    assert [unit["state"] for unit in seen["units"]] == ["done", "done"]
    assert [unit["requests"] for unit in seen["units"]] == [1, 1]
    assert seen["counts"]["syntheses"] == len(visit.speech_requests()) == 2
    assert seen["heard"] == len(text)
    assert visit.text(".trouble") == ""
    said = words_of(" ".join(unit["text"] for unit in seen["units"]).replace("[softly]", ""))
    assert shared_in_order(said, visit.recording().words()) > 0.8
    shown = visit.text(".reply .stretch")
    assert shown.count("Let me look at the clock") == 1


def test_a_longer_break_is_said_and_is_not_the_end(between: Network, browser: Any) -> None:
    visit = Visit(browser, between.url, tap=False)
    visit.send("What is on today?")
    visit.until(lambda: visit.inspect()["length"] > 10, "some text has come")
    between.go_down()
    visit.until(lambda: status(visit) == "Reconnecting …", "the page says that it reconnects")
    seen = visit.inspect()
    assert not seen["final"]
    assert seen["state"] in ("listening", "speaking", "blocked")
    assert seen["cursor"] < seen["length"] or not seen["units"][1:]
    between.come_up()
    whole = visit.until(lambda: (now := visit.inspect())["final"] and now, "the reply is whole")
    assert whole["units"][-1]["end"] == whole["length"]
    assert "failed" not in [unit["state"] for unit in whole["units"]]
    assert status(visit) != "Reconnecting …"
    assert "has not come back" not in visit.text(".trouble")


def test_a_message_sent_without_a_connection_is_answered_once_when_it_is_back(
    between: Network, server: Any, browser: Any
) -> None:
    visit = Visit(browser, between.url, tap=False)
    visit.until_ready()
    between.go_down()
    visit.send("What time is it?")
    visit.until(lambda: status(visit) == "Reconnecting …", "the page says that it reconnects")
    between.come_up()
    whole = visit.until(lambda: (now := visit.inspect())["final"] and now, "the reply is whole")
    sent = asked(visit, "POST", "/replies")
    (reply,) = {json.loads(each["postData"])["id"] for each in sent}
    log = events(server.url, reply)
    assert len(sent) > 1
    assert [name for _, name, _ in log].count("start") == 1
    assert sum(len(payload["text"]) for _, name, payload in log if name == "delta") == whole["length"]
    assert visit.text(".trouble") == ""


def test_a_stop_without_a_connection_reaches_the_server_when_it_is_back(
    between: Network, server: Any, browser: Any
) -> None:
    visit = Visit(browser, between.url, tap=False)
    visit.send("Tell me a story.")
    visit.until_playing(0, seconds=0.4)
    between.go_down()
    visit.driver.find_element(By.ID, "stop").click()
    heard = visit.inspect()["heard"]
    between.come_up()

    visit.until(lambda: asked(visit, "PUT", "/heard"), "the server is told what was heard")
    assert json.loads(asked(visit, "PUT", "/heard")[-1]["postData"]) == {"at": heard, "generation": 1}
    name = events(server.url, reply_id(visit))[-1][1]
    assert name in ("stopped", "final")  # it may have been written to its end meanwhile


def test_a_server_that_has_lost_the_reply_ends_it_in_words(run_server: Any, between: Network, browser: Any) -> None:
    visit = Visit(browser, between.url, tap=False)
    visit.send("Tell me a story.")
    visit.until(lambda: visit.inspect()["length"] > 80, "some text has come")
    with run_server() as restarted:
        between.lead_to(restarted.url)
        visit.until(lambda: visit.inspect()["state"] == "failed", "the page has noticed")
    assert "no longer has this reply" in visit.text(".trouble")
    assert len(visit.text(".reply .stretch")) > 60


def test_a_connection_that_was_given_up_is_sought_again_at_the_press_of_a_button(
    between: Network, browser: Any
) -> None:
    visit = Visit(browser, between.url, tap=False)
    visit.send("Tell me a story.")
    visit.until(lambda: visit.inspect()["length"] > 80, "some text has come")
    between.go_down()
    visit.driver.execute_script(HURRY)
    again = visit.until(lambda: visit.driver.find_elements(By.CSS_SELECTOR, ".trouble .again"), "the page gives up")
    assert "connection to the server was lost" in visit.text(".trouble")
    before = visit.until(lambda: (now := visit.inspect())["state"] == "failed" and now, "what there was is spoken")
    assert not before["final"]
    between.come_up()
    again[0].click()
    assert visit.inspect()["state"] in ("listening", "speaking", "idle")
    whole = visit.until(lambda: (now := visit.inspect())["final"] and now, "the reply is whole")
    assert whole["length"] > before["length"]
    assert whole["generation"] == 1
    assert not visit.driver.find_elements(By.CSS_SELECTOR, ".trouble .again")
