"""Takes of services elsewhere, heard on the page; a unit over a limit; a server that others can reach."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import soxr
from hibari import Hibari
from selenium.webdriver.support.ui import WebDriverWait

from tests.page.double import two_units
from tests.page.recording import shared_in_order, words_of
from tests.page.visit import PATIENCE_S, Visit
from tests.speech_servers import TIMED, Answer, Request, SpeechServer, encoded, in_parts, refusal, timed_line

CANARY = "sk-canary-77ab"
PART = 9_600  # bytes: 200 ms


class Services:
    """Both kinds of service at one address, on a thread of its own; they speak with hibari's voice."""

    def __init__(self) -> None:
        self._hibari = Hibari(voice="heart", threads=1)
        self._server = SpeechServer(self._reply)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Services:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._server.__aenter__(), self._loop).result(20)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.__aexit__(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def texts(self) -> list[str]:
        """What they were asked to say, in order."""
        return [body.get("text") or body["input"] for body in (request.body for request in self._server.requests)]

    def forget(self) -> None:
        self._server.requests.clear()

    def _reply(self, request: Request) -> Answer:
        if "text" in request.body:
            assert request.headers["xi-api-key"] == CANARY
            return self._elevenlabs(request)
        assert request.headers["authorization"] == f"Bearer {CANARY}"
        return self._openai(request)

    def _elevenlabs(self, request: Request) -> Answer:
        """Timed and streamed, in chunks that end anywhere."""
        assert request.way == TIMED
        text = request.body["text"]
        parts = in_parts(self._sound(re.sub(r"\[\w+\]", "", text)), [PART])
        each = -(-len(text) // len(parts))
        lines = b"".join(
            timed_line(part, text[i * each : (i + 1) * each], i * 0.2, 0.2 / each) for i, part in enumerate(parts)
        )
        return Answer(200, "application/json", in_parts(lines, [1, 10_000]))

    def _openai(self, request: Request) -> Answer:
        """WAV only, under a type that is wrong, at the rate of many a server at home."""
        if request.body["response_format"] != "wav":
            return refusal(400, {"error": {"message": "response_format must be wav", "type": "invalid_request_error"}})
        wav = encoded(self._sound(request.body["input"], 22_050), "WAV", 22_050)
        return Answer(200, "text/html", in_parts(wav, [10, 30, 7_777]))

    def _sound(self, text: str, rate: int = 24_000) -> bytes:
        sound = soxr.resample(self._hibari(text, seed=0) * 2, 24_000, rate)
        return bytes((np.clip(sound, -1, 1) * 32_767).astype("<i2").tobytes())


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with Services() as services:
        yield services


#: Of a reply that wants to be performed, and of one whose second part is too long for a voice that takes 300.
TAGGED = ("Let me look at the clock for you. ", "[softly] It is time to go for a walk in the garden.")
LONG = ("I would love to tell you a story. ", "Once there was an old man who lived in a small house by the sea. " * 5)


@pytest.fixture(scope="module")
def speaking(run_server: Callable[..., Any], services: Services) -> Iterator[Any]:
    """A server that has the voices of both services."""
    with run_server(
        ELEVENLABS_API_KEY=CANARY,
        ELEVENLABS_URL=services.url,
        ELEVENLABS_VOICE="v1",
        ONETAKE_SPEECH_URL=services.url,
        ONETAKE_SPEECH_KEY=CANARY,
        ONETAKE_SPEECH_LIMIT="300",
    ) as server:
        yield server


@pytest.fixture(scope="module")
def visit(speaking: Any, open_tab: Any) -> Iterator[Visit]:
    with open_tab() as browser:
        browser.before_page(two_units("Tagged.", *TAGGED))
        browser.before_page(two_units("Long.", *LONG))
        visit = Visit(browser, speaking.url)
        visit.until_ready()
        yield visit


def choose_voice(visit: Visit, voice: str) -> None:
    visit.driver.find_element("id", "open-settings").click()
    visit.driver.find_element("css selector", f"#voice option[value='{voice}']").click()
    visit.driver.find_element("css selector", "#choices > button").click()


def heard_share(visit: Visit, units: list[dict[str, Any]], since_s: float = 0.0) -> float:
    """Which share of the words of these units was heard, in their order."""
    said = words_of(" ".join(unit["text"] for unit in units).replace("[softly]", ""))
    return shared_in_order(said, visit.recording().between(since_s).words())


def test_elevenlabs_is_heard_takes_its_tags_and_its_key_stays_on_the_server(
    visit: Visit, speaking: Any, services: Services
) -> None:
    services.forget()
    visit.send("Tagged.")
    seen = visit.until_spoken()
    assert heard_share(visit, seen["units"]) > 0.8
    assert services.texts == [text.strip() for text in TAGGED]
    assert seen["heard"] == seen["length"]
    browser = visit.browser
    known = [visit.driver.page_source, json.dumps(seen), speaking.log, *browser.console_errors()]
    known += [json.dumps(event) for event in browser.events("Network.responseReceived") + browser.requests()]
    known.append(visit.driver.execute_script("return JSON.stringify([localStorage, sessionStorage])"))
    assert [text for text in known if CANARY in text] == []


def test_a_speech_server_is_heard_without_tags_and_a_unit_too_long_for_it_is_shown_and_the_voice_goes_on(
    visit: Visit, services: Services
) -> None:
    choose_voice(visit, "openai:alloy")
    services.forget()
    visit.send("Long.")
    first, long = visit.until_spoken()["units"]
    assert first["state"] == "done"
    assert (long["state"], long["error"]["code"]) == ("failed", "text_too_long")
    (shown,) = visit.driver.find_elements("css selector", ".stretch[data-state=failed]")
    assert "Once there was an old man" in shown.text
    assert f"{len(LONG[1].strip())} characters, the voice takes at most 300 at once" in visit.text(".trouble")
    assert set(services.texts) == {LONG[0].strip()}  # nothing of the long one was sent

    services.forget()
    sent_s = visit.send("Tagged.")
    seen = visit.until_spoken()
    assert {unit["state"] for unit in seen["units"]} == {"done"}
    assert heard_share(visit, seen["units"], sent_s) > 0.8
    assert services.texts == [text.replace("[softly]", "").strip() for text in TAGGED]


def test_a_server_that_others_can_reach_lets_in_by_its_link_from_anywhere_and_nobody_else(
    run_server: Any, browser: Any
) -> None:
    with run_server("--host", "0.0.0.0") as server:
        link = server.url.replace("0.0.0.0", "127.0.0.1")
        address, token = link.split("?token=")
        browser.driver.get(address)
        assert "token_required" in browser.driver.page_source
        browser.driver.get(f"data:text/html,<a id=link href='{link}'>come in</a>")  # as in a mail
        browser.driver.find_element("id", "link").click()
        opened = WebDriverWait(browser.driver, PATIENCE_S)
        opened.until(lambda driver: driver.current_url == address and driver.find_elements("id", "write"))
        visit = Visit(browser, address, tap=False)  # the cookie lets in again
        visit.until_ready()
        assert visit.inspect()["state"] == "idle"
        assert token not in browser.driver.execute_script("return document.cookie + location.href + document.referrer")
