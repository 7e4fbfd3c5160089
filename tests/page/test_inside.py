"""Seeing inside: what `window.onetake`, the console and the Performance panel tell of a session, and what they keep."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from onetake.browser.devtools import COLOURS
from onetake.masks import mask
from onetake.server.cli import main
from onetake.trace import replay
from tests.page.double import answers
from tests.page.visit import Visit

ROOT = Path(__file__).resolve().parents[2]

# What nobody may find in a report: words of several scripts, numbers, pictures, names, in every place for text.
SECRETS = ["Zanzibar", "73918264", "비밀번호", "שלום", "🦄", "🇰🇷"]
SECRET = " ".join(SECRETS)
NAMES = ["opensesame", "keyring"]  # a tool, which is an emotion too, and what a foreign server calls its errors
MESSAGE = f"Hide {SECRET}."
UNSPOKEN = f"Timbuktu, {SECRET}. [emotion:{NAMES[0]}]"  # no engine takes it
SPOKEN = f"Zanzibar! 비밀번호.\n```card\n{SECRET}\n```\n"
EVENTS = [
    ("delta", {"text": UNSPOKEN}),
    ("unit_end", {"at": len(UNSPOKEN)}),
    ("tool", {"id": SECRET, "name": NAMES[0], "phase": "call", "at": len(UNSPOKEN)}),
    ("delta", {"text": SPOKEN}),
    ("unit_end", {"at": len(UNSPOKEN + SPOKEN)}),
    ("error", {"code": NAMES[1], "message": SECRET, "retryable": False}),
]

BEFORE_PAGE = """
window.measures = [];
new PerformanceObserver((list) => {
  for (const { name, startTime, duration, detail } of list.getEntries())
    measures.push({ name, start: startTime, end: startTime + duration, ...detail.devtools });
}).observe({ type: "measure" });
document.addEventListener("DOMContentLoaded", () => {
  window.booting = { seen: onetake.inspect(), report: onetake.report() };
});
window.violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective }) => violations.push(violatedDirective));
const real = window.fetch;
window.fetch = (url, options) =>
  String(url).endsWith("/speech") && JSON.parse(options.body).text.startsWith("Timbuktu")
    ? Promise.resolve(Response.json({ error: REFUSAL }, { status: 502 }))
    : real(url, options);
""".replace("REFUSAL", json.dumps({"code": NAMES[1], "message": SECRET}))


class Session(NamedTuple):
    """What one session left behind: a reply with a tool, written anew and stopped; a hostile one; a replay."""

    visit: Visit
    booting: dict[str, Any]
    booting_report: Path
    measures: list[dict[str, Any]]
    unasked: list[str]
    asked: list[str]
    unasked_again: list[str]
    seen: dict[str, Any]
    trace: str
    report: Path


def lines(visit: Visit) -> list[str]:
    """What the console has got at level debug since it was asked last."""
    written = [entry for entry in visit.driver.get_log("browser") if entry["level"] == "DEBUG"]
    return [found[1] for entry in written if (found := re.search(r'"(onetake.*)"$', entry["message"]))]


def click(visit: Visit, name: str) -> None:
    button = visit.driver.find_element("id", name)
    visit.until(button.is_enabled, f"#{name} can be pressed")
    button.click()


def saved(visit: Visit, directory: Path, script: str) -> Path:
    """The file that the page saves, by the name which `script` returns."""
    file = directory / visit.driver.execute_script(script)
    visit.until(file.is_file, "the report is saved")
    return file


@pytest.fixture(scope="module")
def session(server: Any, open_tab: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    directory = tmp_path_factory.mktemp("reports")
    with open_tab() as browser:
        allowed = {"behavior": "allow", "downloadPath": str(directory)}
        browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
        browser.before_page(answers({MESSAGE: EVENTS}))
        browser.before_page(BEFORE_PAGE)
        visit = Visit(browser, server.url, tap=False)  # so that the page's policy holds
        booting = visit.driver.execute_script("return booting.seen")
        booting_report = saved(visit, directory, "return booting.report")
        visit.send("What time is it?")
        visit.until_playing(0)
        click(visit, "regenerate")
        visit.until(lambda: visit.inspect()["generation"] == 2, "it is written anew")
        visit.until_playing(1)
        click(visit, "stop")
        visit.until(lambda: visit.inspect()["state"] == "idle", "it is silent")
        unasked = lines(visit)
        visit.driver.execute_script("localStorage.onetakeDebug = 1")
        visit.send(MESSAGE)
        visit.until(lambda: visit.inspect()["state"] == "failed", "what there is of the reply is spoken")
        asked = lines(visit)
        visit.driver.execute_script("delete localStorage.onetakeDebug")
        click(visit, "replay")
        visit.until(lambda: visit.inspect()["state"] == "failed", "it is spoken again")
        seen = visit.inspect()
        trace = visit.driver.execute_script("return onetake.trace()")
        report = saved(visit, directory, "return onetake.report()")
        measures = visit.driver.execute_script("return measures")
        yield Session(
            visit, booting, booting_report, measures, unasked, asked, lines(visit), seen, trace, report
        )  # fmt: skip


# -- the Performance panel ----------------------------------------------------------------------------------------


def drawn(session: Session, name: str, end: str) -> list[dict[str, Any]]:
    """The entries of lives on that track that ended like that."""
    return [entry for entry in session.measures if entry["track"] == name and ["end", end] in entry["properties"]]


def test_the_life_of_a_unit_is_drawn_on_a_track_of_its_own(session: Session) -> None:
    entries = drawn(session, "g2 u0", "done")
    assert [entry["name"] for entry in entries] == [f"onetake g2 u0 {phase}" for phase in COLOURS]
    for before, after in pairwise(entries):
        assert before["end"] == pytest.approx(after["start"], abs=0.2)
    assert entries[-1]["end"] - entries[-1]["start"] > 500
    assert {(entry["dataType"], entry["trackGroup"]) for entry in entries} == {("track-entry", "Onetake")}
    assert [entry["color"] for entry in entries] == list(COLOURS.values())


def test_a_life_that_is_cut_short_is_drawn_as_far_as_it_went(session: Session) -> None:
    assert [entry["name"] for entry in drawn(session, "g2 u1", "dropped")][-1] == "onetake g2 u1 playing"


def test_a_failure_is_drawn_in_the_colour_of_errors(session: Session) -> None:
    (failed,) = [entry for entry in session.measures if entry["color"] == "error"]
    assert failed["name"] == "onetake g1 u0 synthesising"
    assert ["error", mask(NAMES[1])] in failed["properties"]


def test_what_is_drawn_holds_no_word_of_the_conversation(session: Session) -> None:
    written = json.dumps(session.measures, ensure_ascii=False)
    assert [secret for secret in SECRETS + NAMES if secret in written] == []


def test_what_is_drawn_does_not_pile_up_in_the_page(session: Session) -> None:
    assert len(session.measures) >= 12
    assert session.visit.driver.execute_script("return performance.getEntriesByType('measure')") == []


# -- the console --------------------------------------------------------------------------------------------------


def test_the_console_gets_no_line_unless_it_is_asked_for(session: Session) -> None:
    assert session.unasked == []
    assert session.unasked_again == []


def test_the_console_gets_a_line_for_each_change_of_state_when_it_is_asked_for(session: Session) -> None:
    end = len(UNSPOKEN)
    units = [line for line in session.asked if " u" in line]
    assert [re.sub(r"\+\d+ ms", "+N ms", line) for line in units if " u0 " in line] == [
        f"onetake g1 u0 [0,{end}) queued +N ms",
        f"onetake g1 u0 [0,{end}) queued → synthesising +N ms",
        f"onetake g1 u0 [0,{end}) synthesising → failed +N ms {NAMES[1]}: {SECRET}",
    ]
    assert [line.split(") ")[1].split(" +")[0] for line in units if " u1 " in line] == [
        "queued", "queued → synthesising", "synthesising → playing", "playing → done",
    ]  # fmt: skip


def test_the_console_gets_a_line_for_each_change_of_the_voices_state(session: Session) -> None:
    voice = [line.split(" +")[0] for line in session.asked if " u" not in line]
    assert voice == ["onetake idle → listening", "onetake listening → speaking", "onetake speaking → failed"]


def test_help_has_a_line_for_all_there_is(session: Session) -> None:
    script = """
    const printed = [];
    const { info } = console;
    console.info = (...text) => printed.push(...text);
    try { onetake.help(); } finally { console.info = info; }
    return [printed.join("\\n").split("\\n"), Object.keys(onetake)];
    """
    printed, there = session.visit.driver.execute_script(script)
    told = [line.split("  ")[0] for line in printed]
    assert [name for name in there if f"onetake.{name}()" not in told] == []
    assert [line for line in printed if len(line) > 110] == []
    assert "localStorage.onetakeDebug" in "".join(printed)
    assert "Performance" in "".join(printed)


# -- inspect ------------------------------------------------------------------------------------------------------


def documented() -> dict[str, set[str]]:
    """The fields of `inspect()` by the README: those of the whole under "", those of its parts under their names."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.search(r"\| field \| meaning \|\n\| --- \| --- \|\n((?:\|.*\n)+)", readme)
    assert table is not None
    fields: dict[str, set[str]] = {"": set()}
    for row in table[1].splitlines():
        _, names, meaning, _ = row.split("|", 3)
        for name in re.findall(r"`(\w+)(?:\[\])?`", names):
            fields[""].add(name)
            fields[name] = set(re.findall(r"`(\w+)`", meaning))
    return fields


def fields_of(seen: Any) -> Any:
    """The names of all fields, nested as they are."""
    return {name: fields_of(value) for name, value in seen.items()} if isinstance(seen, dict) else None


def test_inspect_has_exactly_the_documented_fields(session: Session) -> None:
    fields = documented()
    assert set(session.seen) == fields[""] | {"version"}
    assert [part for part in ("counts", "audio", "floor") if set(session.seen[part]) != fields[part]] == []
    assert set(session.seen["boot"]) == fields["boot"] | {"phases"}
    unit = session.seen["units"][0]
    assert set(unit) | set(unit["times"]) == fields["units"]


def test_inspect_has_the_same_fields_while_the_page_boots(session: Session) -> None:
    assert session.booting["state"] == "booting"
    before, after = ({**seen, "boot": {**seen["boot"], "phases": {}}} for seen in (session.booting, session.seen))
    assert fields_of(before) == fields_of(after)


def test_reading_it_a_thousand_times_changes_nothing(session: Session) -> None:
    script = """
    const before = onetake.inspect();
    for (let i = 0; i < 1000; i++) onetake.inspect();
    return [before, onetake.inspect()];
    """
    before, after = session.visit.driver.execute_script(script)
    for seen in (before, after):
        del seen["audio"]["output_latency"]  # the device's own
    assert before == after


# -- traces and reports -------------------------------------------------------------------------------------------


def kinds(trace: str) -> set[str]:
    """Which events a trace, or a report, holds."""
    return {type(step.event).__name__ for step in replay(trace.split("\n"))}


def run(file: Path) -> list[Any]:
    """What `onetake replay` prints for it; it fails if an effect is not the one of the page."""
    result = CliRunner().invoke(main, ["replay", str(file)])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_a_trace_gives_the_same_effects_in_cpython(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(session.trace, encoding="utf-8")
    records = [json.loads(line) for line in session.trace.splitlines()]
    assert run(file) == [effect for record in records for effect in record.get("effects", [])]
    happened = {"UnitClosed", "Reset", "Stop", "Replay", "ReplyFailed", "SynthesisFailed", "PlaybackEnded"}
    assert happened - kinds(session.trace) == set()


def test_a_report_is_run_by_replay_as_it_is(session: Session) -> None:
    asked = [json.loads(line) for line in session.trace.splitlines()]
    expected = [effect["type"] for record in asked for effect in record.get("effects", [])]
    assert [effect["type"] for effect in run(session.report)] == expected


def test_a_report_names_its_browser_and_versions_and_holds_the_state(session: Session) -> None:
    head = json.loads(session.report.read_text(encoding="utf-8").splitlines()[0])["report"]
    assert "Chrome" in head["browser"]
    assert head["pyodide"]
    assert head["cores"] >= 1
    assert head["inspect"]["version"]
    assert fields_of(head["inspect"]) == fields_of(session.seen)
    assert head["inspect"]["heard"] == session.seen["heard"]


def test_a_report_holds_no_word_number_picture_or_name_of_the_conversation(session: Session) -> None:
    written = session.report.read_text(encoding="utf-8")
    assert [secret for secret in SECRETS + NAMES if secret not in session.trace] == []
    assert [secret for secret in SECRETS + NAMES if secret in written] == []
    left = {sign for sign in written if not sign.isascii()}
    assert left - {*mask(SECRET), "ä", "’"} == set()


def test_a_report_is_saved_under_the_pages_own_policy(session: Session) -> None:
    assert re.fullmatch(r"onetake-report-\d{4}-\d\d-\d\d-\d{6}\.jsonl", session.report.name)
    assert session.visit.driver.execute_script("return violations") == []


def test_a_report_can_be_saved_before_python_is_there(session: Session) -> None:
    (line,) = session.booting_report.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["report"]["inspect"]["state"] == "booting"
    assert run(session.booting_report) == []
