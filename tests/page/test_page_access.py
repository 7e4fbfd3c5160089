"""For everyone: what axe-core finds, in both colour schemes and languages, and a page that holds still if asked to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.npm import npm_packages
from tests.page.double import answers
from tests.page.visit import Visit

RUN = """
const done = arguments[arguments.length - 1];
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] }).then(({ violations }) =>
  done(violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))));
"""

OPENING = "안녕하세요. "
CARD = "```card\n| 시각 | 일정 |\n|---|---|\n| 10:00 | [전화](https://example.org) |\n```\n"
REPLY = f"{OPENING}[softly] 반가워요.\n{CARD}"
EVENTS = [
    ("delta", {"text": OPENING}),
    ("unit_end", {"at": len(OPENING)}),
    ("tool", {"id": "1", "name": "calendar", "phase": "call", "at": len(OPENING)}),
    ("tool", {"id": "1", "name": "calendar", "phase": "result", "outcome": "ok", "at": len(OPENING)}),
    ("delta", {"text": REPLY.removeprefix(OPENING)}),
    ("final", {"length": len(REPLY)}),
]

#: The server's own words are English; an unknown code is one that a newer server may have.
TROUBLES = {
    "바쁨": [("error", {"code": "model_busy", "message": "The model's provider is busy.", "retryable": True})],
    "새것": [("error", {"code": "brand_new", "message": "Nobody here knows this.", "retryable": False})],
}


@pytest.fixture(scope="module")
def visit(server: Any, open_browser: Any) -> Iterator[Visit]:
    """A Korean browser that asks for less motion, with a reply that has been spoken."""
    with open_browser("--lang=ko-KR", "--accept-lang=ko-KR,ko") as browser:
        emulate(browser, "light")
        browser.before_page(answers({"안녕": EVENTS, **TROUBLES}))
        visit = Visit(browser, server.url)
        visit.until_ready()
        visit.driver.execute_script(
            "window.breaths = []; const face = document.getElementById('face');"
            "setInterval(() => breaths.push(face.style.getPropertyValue('--breath') || '0'), 50);"
        )
        visit.send("안녕")
        visit.until_spoken()
        axe = (npm_packages() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
        visit.driver.execute_script(axe + ";window.axe = axe;")
        yield visit


def emulate(browser: Any, scheme: str) -> None:
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def test_the_page_speaks_the_language_of_the_browser(visit: Visit) -> None:
    assert visit.driver.find_element("css selector", "html").get_attribute("lang") == "ko"
    assert visit.text("#status") == "끝"
    assert visit.driver.find_element("id", "text").get_attribute("placeholder") == "메시지를 써 보세요 …"
    assert visit.driver.find_element("id", "pause").accessible_name == "일시 정지 (스페이스)"


def test_the_face_is_still_where_less_motion_is_wanted(visit: Visit) -> None:
    assert set(visit.driver.execute_script("return window.breaths")) == {"0"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sheet", [None, "settings", "help"])
def test_axe_finds_nothing_serious(visit: Visit, scheme: str, sheet: str | None) -> None:
    emulate(visit.browser, scheme)
    visit.driver.execute_script(
        "document.querySelector('.timeline').open = true;"
        "if (arguments[0]) document.getElementById(arguments[0]).showModal()",
        sheet,
    )
    found = visit.driver.execute_async_script(RUN)
    visit.driver.execute_script("document.querySelectorAll('dialog').forEach((dialog) => dialog.close())")
    assert found == []


def test_text_that_is_not_heard_yet_can_be_read(visit: Visit) -> None:
    """The contrast of a highlight is what axe does not see: WCAG's 4.5 to 1, computed from the page's own colours."""
    for scheme in ("light", "dark"):
        emulate(visit.browser, scheme)
        ratio = visit.driver.execute_script(
            """
            const channels = (name) => {
              const probe = document.body.appendChild(document.createElement("i"));
              probe.style.color = `var(${name})`;
              const found = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255);
              probe.remove();
              return found.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
            };
            const light = (name) => channels(name).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0.05);
            const [a, b] = [light("--faint"), light("--paper")];
            return Math.max(a, b) / Math.min(a, b);
            """
        )
        assert ratio >= 4.5, scheme


@pytest.mark.parametrize(
    ("message", "says", "button"),
    [
        ("바쁨", "모델 제공자가 바빠요. 잠시 뒤에 다시 시도해 주세요.", "다시 시도"),
        ("새것", "Nobody here knows this.", ""),
    ],
)
def test_an_error_is_told_in_the_listeners_language_or_in_the_servers_words(
    visit: Visit, message: str, says: str, button: str
) -> None:
    visit.send(message)
    visit.until(lambda: visit.inspect()["state"] == "failed", "it has failed")
    (trouble,) = visit.driver.find_elements("css selector", ".reply:last-of-type .trouble")
    assert trouble.text == f"{says} {button}".strip()


def test_the_language_can_be_switched_and_is_kept(visit: Visit) -> None:
    visit.driver.find_element("id", "open-settings").click()
    visit.driver.find_element("css selector", "#language option[value=en]").click()
    assert visit.driver.find_element("css selector", "html").get_attribute("lang") == "en"
    assert visit.text("#status") == "The reply broke off."
    assert visit.text("#settings h2") == "Settings"
    assert visit.text(".tool .outcome") == "done"
    visit.driver.refresh()
    visit.until_ready()
    assert visit.driver.find_element("css selector", "html").get_attribute("lang") == "en"


def test_every_word_is_there_in_every_language(visit: Visit) -> None:
    tables = visit.driver.execute_script(
        "return import(new URL('words.mjs', document.querySelector('script').src)).then((all) => all.TABLE)"
    )
    keys = {language: sorted(table) for language, table in tables.items()}
    assert keys["ko"] == keys["en"]
    asked = visit.driver.execute_script(
        "return [...document.querySelectorAll('*')].flatMap((e) => ['words', 'wordsLabel', 'wordsPlaceholder']"
        ".map((name) => e.dataset?.[name])).filter(Boolean)"
    )
    assert set(asked) - set(keys["en"]) == set()
