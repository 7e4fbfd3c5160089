"""Whatever a reply holds, it is text: nothing in it runs, loads, or takes the page's own names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.double import answers
from tests.page.visit import Visit

RUN = "window.ran = true"
MARKUP = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror='{RUN}'>",
    f"<svg onload='{RUN}'><script>{RUN}</script></svg>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href='javascript:{RUN}'>link</a>",
    f"[link](javascript:{RUN})",
    f"[link](data:text/html,<script>{RUN}</script>)",
    f"<details open ontoggle='{RUN}'>",
    f"<form action='https://evil.example'><button id='stop' formaction='javascript:{RUN}'>Stop</button></form>",
    "<style>body { display: none }</style>",
    "<link rel=stylesheet href=https://evil.example/a.css>",
    "<base href=https://evil.example/>",
    "<input name=text autofocus>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}>",
    "![picture](https://evil.example/track.png)",
]
TEXT = "\n\n".join(MARKUP)
NAME = f"<img src=x onerror='{RUN}'>"
MESSAGE = f"Attack. <img src=x onerror='{RUN}'>"
EVENTS = [
    ("delta", {"text": f"{TEXT}\n```card\n{TEXT}\n```\n"}),
    ("tool", {"id": "<b>", "name": NAME, "phase": "call", "at": len(TEXT)}),
    ("error", {"code": "<b>", "message": NAME, "retryable": False}),
]


@pytest.fixture(scope="module")
def visit(server: Any, open_tab: Any) -> Iterator[Visit]:
    with open_tab() as browser:
        browser.before_page(answers({MESSAGE: EVENTS}))
        visit = Visit(browser, server.url)  # which turns the page's policy off: the page has to be harmless without
        visit.until_ready()
        visit.send(MESSAGE)
        visit.until(lambda: visit.inspect()["state"] == "failed", "the reply is there")
        yield visit


def test_nothing_in_a_reply_runs(visit: Visit) -> None:
    for link in visit.driver.find_elements("css selector", "#log a"):
        visit.driver.execute_script("arguments[0].click()", link)
    assert visit.driver.execute_script("return window.ran") is None


def test_nothing_in_a_reply_is_loaded(visit: Visit) -> None:
    assert visit.browser.foreign_requests(visit.url) == []


def test_no_element_of_a_reply_can_load_submit_or_pose_as_the_pages_own(visit: Visit) -> None:
    bad = "script, img, svg, iframe, form, input, style, link, base, object, embed, button:not(.again, .listen)"
    inside = ", ".join(f"#log .reply {each}" for each in bad.split(", "))
    assert [element.get_attribute("outerHTML") for element in visit.driver.find_elements("css selector", inside)] == []
    assert visit.driver.find_elements("css selector", "#log .reply [id], #log .reply [name], #log .reply [style]") == []
    for link in visit.driver.find_elements("css selector", "#log .reply a[href]"):
        assert not (link.get_attribute("href") or "").startswith(("javascript:", "data:"))


def test_all_of_it_is_shown_as_it_was_written(visit: Visit) -> None:
    assert visit.text(".message") == MESSAGE
    assert visit.text(".tool .name") == NAME
    assert NAME in visit.text(".trouble")
    assert [markup for markup in MARKUP if markup not in visit.text(".reply .stretch")] == []
