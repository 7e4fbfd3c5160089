"""One spoken reply as it is seen: what was heard in full ink, the breath, the timeline, the face, the status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from onetake.shown import shown
from tests.page.double import answers
from tests.page.visit import Visit

FIRST = "😀 One moment 🎉 please, 잠깐만요. "
SECOND = (
    "Here 👩‍👩‍👧 it is. [softly] And 𝒎𝒐𝒓𝒆 of it, so that there is something to hear."
    "\n```card\n| a |\n|---|\n| b |\n```\n[emotion:joy]"
)
REPLY = FIRST + SECOND
EVENTS = [
    ("delta", {"text": FIRST}),
    ("unit_end", {"at": len(FIRST)}),
    ("tool", {"id": "1", "name": "almanac", "phase": "call", "at": len(FIRST)}),
    ("tool", {"id": "1", "name": "almanac", "phase": "result", "outcome": "ok", "at": len(FIRST)}),
    ("tool", {"id": "2", "name": "oracle", "phase": "call", "at": len(FIRST)}),
    ("tool", {"id": "2", "name": "oracle", "phase": "result", "outcome": "failed", "at": len(FIRST)}),
    ("delta", {"text": SECOND}),
    ("final", {"length": len(REPLY)}),
]

#: Notes ten times a second what is lighter, what was heard, how the face stands, and every status there was.
WATCH = """
const ranges = () => [...CSS.highlights.get("unheard")].sort((a, b) =>
  a.startContainer === b.startContainer ? 0
    : a.startContainer.compareDocumentPosition(b.startContainer) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);
const text = (range) => range.startContainer.data.slice(range.startOffset, range.endOffset);
window.unheard = () => ranges().map(text).join("");
window.noted = [];
window.said = [];
window.drawn = 0;
const status = document.getElementById("status");
new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true, subtree: true });
setInterval(() => {
  const { heard, state } = onetake.inspect();
  const face = document.getElementById("face");
  noted.push({ unheard: unheard(), heard, state, breath: Number(face.style.getPropertyValue("--breath")),
    look: face.dataset.look });
}, 100);
"""


def unheard(heard: int) -> str:
    """What is to be lighter when the reply has been heard up to `heard`."""
    text = ""
    for start, stretch in ((0, FIRST), (len(FIRST), SECOND)):
        for piece in shown(stretch):
            if piece.kind != "card":
                text += piece.text[max(0, heard - start - piece.start) :]
    return text


class Session(NamedTuple):
    visit: Visit
    held: dict[str, Any]
    noted: list[dict[str, Any]]
    said: list[str]
    seen: dict[str, Any]


@pytest.fixture(scope="module")
def session(server: Any, open_tab: Any) -> Iterator[Session]:
    with open_tab() as browser:
        browser.before_page(answers({"Speak.": EVENTS}))
        visit = Visit(browser, server.url)
        visit.until_ready()
        visit.driver.execute_script(WATCH)
        visit.send("Speak.")
        visit.until_playing(1, seconds=1.0)
        visit.press("pause")
        held = visit.until(
            lambda: visit.driver.execute_script(
                "const { state, heard } = onetake.inspect();"
                "return state === 'paused' && { heard, unheard: unheard() }"
            ),
            "it is paused",
        )
        visit.driver.execute_script(
            "new MutationObserver((seen) => (window.drawn += seen.length))"
            ".observe(document.querySelector('.reply'), { childList: true, characterData: true, subtree: true })"
        )
        visit.press("pause")
        seen = visit.until_spoken()
        visit.until(lambda: visit.driver.execute_script("return unheard()") == "", "all of it is in full ink")
        noted, said = visit.driver.execute_script("return [noted, said]")
        yield Session(visit, held, noted, said, seen)


def test_what_was_heard_is_in_full_ink_by_code_point_in_any_script(session: Session) -> None:
    assert len(FIRST) < session.held["heard"] < len(REPLY)
    # The page is told where the voice is at most every 50 ms; none of it sounds faster than 40 code points a second.
    behind = range(session.held["heard"] - 2, session.held["heard"] + 1)
    assert session.held["unheard"] in [unheard(at) for at in behind]


def test_the_ink_moves_on_with_the_voice_and_never_ahead_of_it(session: Session) -> None:
    spoken = [note for note in session.noted if note["state"] == "speaking"]
    assert len({note["unheard"] for note in spoken}) > 5
    for note in spoken:
        assert note["unheard"] in [unheard(at) for at in range(note["heard"] + 1)], note


def test_nothing_is_drawn_anew_while_the_voice_goes_on(session: Session) -> None:
    assert session.visit.driver.execute_script("return window.drawn") == 0


def test_the_tools_and_what_came_of_them_stand_in_the_breath(session: Session) -> None:
    parts = session.visit.driver.find_elements("css selector", ".reply > *")
    assert [part.text for part in parts[1:3]] == ["almanac\ndone", "oracle\nfailed"]
    assert [part.get_attribute("class") for part in parts] == ["stretch", "tool", "tool", "stretch"]


def test_the_face_breathes_with_the_voice_and_is_still_in_silence(session: Session) -> None:
    breaths = [note["breath"] for note in session.noted if note["state"] == "speaking"]
    assert max(breaths) > 0.2
    assert len(set(breaths)) > 5
    breath = "return Number(document.getElementById('face').style.getPropertyValue('--breath'))"
    session.visit.until(lambda: session.visit.driver.execute_script(breath) == 0, "the face rests")


def test_the_face_takes_its_look_from_the_emotion_of_what_is_said(session: Session) -> None:
    assert next(note["look"] for note in session.noted if note["state"] == "speaking") == "rest"
    assert session.noted[-1]["look"] == "joy"


def test_the_status_is_told_and_never_the_text(session: Session) -> None:
    told = [status for status in session.said if status]
    assert told[-4:] == ["Speaking", "Paused", "Speaking", "Done"]
    assert len(told) <= 8
    live = session.visit.driver.find_elements("css selector", "[aria-live], [role=status], [role=alert], [role=log]")
    assert [element for element in live if "moment" in (element.get_attribute("textContent") or "")] == []


def test_the_timeline_tells_the_phases_of_every_unit_and_shows_its_sound(session: Session) -> None:
    visit = session.visit
    details = visit.driver.find_element("css selector", ".timeline")
    assert details.get_attribute("open") is None
    details.find_element("css selector", "summary").click()
    rows = [row.text.split() for row in details.find_elements("css selector", "tbody tr")]
    assert len(rows) == 2
    for unit, row in zip(session.seen["units"], rows, strict=True):
        shown_s = [float(value) for value in row[1::2]]
        assert len(shown_s) == 5
        assert shown_s[4] == pytest.approx((unit["times"]["ended"] - unit["times"]["first_sound"]) / 1000, abs=0.01)
    waves = [path.get_attribute("d") for path in details.find_elements("css selector", ".wave path")]
    assert [len(wave.split("M")) for wave in waves] == [97, 97]
    assert len(set(waves)) == 2
    assert "characters per second" in details.text


def test_directions_are_quiet_or_hidden_as_the_listener_likes(session: Session) -> None:
    visit = session.visit
    direction = visit.driver.find_element("css selector", ".reply .direction")
    assert direction.is_displayed()
    visit.driver.find_element("id", "open-settings").click()
    visit.driver.find_element("name", "directions").click()
    assert not direction.is_displayed()
    visit.driver.find_element("name", "directions").click()
    visit.driver.find_element("css selector", "#choices > button").click()
    assert json.loads(visit.driver.execute_script("return localStorage['onetake.settings']"))["directions"] is True
