"""Waking: a visit after the first goes on from a snapshot; what is wrong with one only `inspect()` shows."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import Installed
from tests.page.network import Network, network
from tests.page.recording import shared_in_order, words_of
from tests.page.visit import PATIENCE_S, Visit

DRAFT = "Written while it woke"

# What is kept for the next visit: addresses by the name of the cache, and whether the service worker is at work.
KEPT = """
const done = arguments[0];
(async () => {
  const found = { "onetake-files": [], "onetake-snapshot": [] };
  for (const name of await caches.keys()) {
    found[name] = (await (await caches.open(name)).keys()).map(({ url }) => url);
  }
  const registration = await navigator.serviceWorker.getRegistration();
  const settled = registration?.active?.state === "activated" && !registration.installing && !registration.waiting;
  return { ...found, settled, snapshot: localStorage.onetakeSnapshot ?? null };
})().then(done);
"""

# Changes bytes of the snapshot; `sealed`: and vouches for them.
SPOIL = """
const [at, sealed, done] = arguments;
(async () => {
  const cache = await caches.open("onetake-snapshot");
  const [request] = await cache.keys();
  const response = await cache.match(request);
  const { headers } = response.clone();
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (let i = at; i < at + 16; i++) bytes[i] ^= 255;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const seal = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await cache.put(request, new Response(bytes, { headers: sealed ? { "sha-256": seal } : headers }));
})().then(done);
"""
BUILD_ID, MIDDLE = 16, 20_000_000

NAMED = """
const named = [...document.querySelectorAll("link, script")].map((each) => each.href || each.src);
"""

# A Pyodide that knows nothing of the private option of that name.
WITHOUT = "Object.defineProperty(Object.prototype, '%s', { get: () => undefined, set: () => {} });"

DENIED = """
Object.defineProperty(window, "caches", { get() { throw new DOMException("It is insecure.", "SecurityError"); } });
"""

# Someone who types as soon as there is a text box.
TYPING = """
new MutationObserver((_, observer) => {
  const box = document.getElementById("text");
  if (!box) return;
  observer.disconnect();
  box.value = "Typed at once";
}).observe(document, { childList: true, subtree: true });
"""

ANOTHER_PYTHON = """
const done = arguments[0];
(async () => {
  const health = await (await fetch("health")).json();
  const { json, startRuntime } = await import(`/${health.web}runtime.mjs`);
  const { woken } = await import(`/${health.web}snapshot.mjs`);
  const wake = () => startRuntime(`${location.origin}/`, json(`${location.origin}/health`), () => {});
  const [python, other] = [await wake(), await wake()];
  python.registerJsModule("onetake_web", { answer: () => 42 });
  const later = python.runPython(`
import asyncio, importlib.metadata, inspect, random
import csv, js, onetake_web
import onetake.browser.page
from pyodide.ffi import create_proxy

async def later():
    await asyncio.sleep(0.01)
    return "later"

proxy = create_proxy(lambda: "called")
asyncio.ensure_future(later())`);
  return {
    woken,
    health,
    later: await later,
    called: python.globals.get("proxy")(),
    web: python.runPython("onetake_web.answer()"),
    url: python.runPython("js.document.URL"),
    version: python.runPython("importlib.metadata.version('onetake')"),
    source: python.runPython("inspect.getsource(onetake.browser.page.start)"),
    random: [python, other].map((each) => each.runPython("import random; random.random()")),
  };
})().then(done, (error) => done({ error: error.stack }));
"""


@pytest.fixture(scope="module")
def between(server: Any) -> Iterator[Network]:
    """An address where one release can follow another, and where there can be no server at all."""
    with network(server.url) as between:
        yield between


@pytest.fixture(scope="module")
def visitor(open_browser: Any) -> Iterator[Any]:
    """The browser of somebody who comes back."""
    with open_browser() as browser:
        yield browser


class First(NamedTuple):
    """What was to be seen in the first visit."""

    boot: dict[str, Any]  # of `inspect()`
    draft: str  # what stood in the text box once the page was awake
    sent: list[str]  # the files that the server sent


@pytest.fixture(scope="module")
def first(visitor: Any, between: Network) -> First:
    visit = Visit(visitor, between.url, tap=False)
    visit.driver.find_element("id", "text").send_keys(DRAFT)
    visit.until_ready()
    draft = str(visit.driver.find_element("id", "text").get_property("value"))
    visit.driver.execute_script("sessionStorage.clear()")
    sent = visit.driver.execute_script(
        "return performance.getEntriesByType('resource').filter((e) => e.transferSize > 0).map((e) => e.name)"
    )
    until_kept(visitor)
    return First(visit.inspect()["boot"], draft, [url for url in sent if url.startswith(ways(between))])


@pytest.fixture
def known(visitor: Any, between: Network, first: First) -> None:
    """All that the next visit can use is kept."""
    visitor.driver.get(between.url + "health")
    if kept(visitor)["snapshot"] is None:
        Visit(visitor, between.url, tap=False)
        until_kept(visitor)
        visitor.driver.get(between.url + "health")


@pytest.fixture
def fault(visitor: Any, first: First) -> Iterator[Callable[[str], None]]:
    """`fault(script)` runs in every page of this test before the page's own scripts."""
    added: list[dict[str, Any]] = []
    yield lambda script: added.append(visitor.before_page(script))
    for each in added:
        visitor.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", each)


def ways(between: Network) -> tuple[str, str]:
    """How the addresses of files begin."""
    return f"{between.url}web/", f"{between.url}wheels/"


def kept(visitor: Any) -> dict[str, Any]:
    found: dict[str, Any] = visitor.driver.execute_async_script(KEPT)
    return found


def addresses(found: dict[str, Any]) -> set[str]:
    return {*found["onetake-files"], *found["onetake-snapshot"]}


def until_kept(visitor: Any, old: frozenset[str] = frozenset()) -> None:
    """Wait in the page that is open until all that the next visit can use is kept, and nothing `old`."""
    limit_s = time.monotonic() + PATIENCE_S
    while not ((found := kept(visitor))["settled"] and found["snapshot"] and not addresses(found) & old):
        assert time.monotonic() < limit_s, found
        time.sleep(0.02)  # between two looks; nothing is assumed to have happened by then


def until_it_is_told(visitor: Any) -> list[str]:
    """What `inspect()` says of snapshots, as soon as it says something."""
    limit_s = time.monotonic() + PATIENCE_S
    while not (told := visitor.driver.execute_script("return window.onetake.inspect().boot.snapshot_failures")):
        assert time.monotonic() < limit_s
        time.sleep(0.02)  # between two looks; nothing is assumed to have happened by then
    return list(told)


def forget_snapshot(visitor: Any, url: str) -> None:
    visitor.driver.get(url + "health")
    visitor.driver.execute_script("delete localStorage.onetakeSnapshot")
    visitor.driver.execute_async_script("caches.delete('onetake-snapshot').then(arguments[0])")


def wake(visitor: Any, url: str) -> dict[str, Any]:
    """One more visit: what it says of its boot. The page is as it always is, and the console is silent."""
    before = len(visitor.console_errors())
    visit = Visit(visitor, url, tap=False)
    visit.until_ready()
    seen = visit.inspect()
    assert seen["state"] == "idle"
    assert visit.text("#boot") == ""
    assert visitor.console_errors()[before:] == []
    boot: dict[str, Any] = seen["boot"]
    return boot


def test_the_first_visit_starts_python_from_its_files(first: First) -> None:
    assert first.boot["from_snapshot"] is False
    assert first.boot["snapshot_failures"] == []
    assert first.boot["phases"].keys() >= {"fetching", "installing", "ready"}


def test_every_file_is_sent_once(first: First) -> None:
    assert any(url.endswith(".wasm") for url in first.sent)
    assert [url for url in first.sent if first.sent.count(url) > 1] == []


def test_what_is_typed_before_python_is_there_stays(
    visitor: Any, between: Network, first: First, known: None, fault: Callable[[str], None]
) -> None:
    assert first.draft == DRAFT
    fault(TYPING)
    assert wake(visitor, between.url)["from_snapshot"] is True
    assert visitor.driver.find_element("id", "text").get_property("value") == "Typed at once"


def test_what_is_sent_compressed_comes_out_as_it_is_on_the_disk(
    visitor: Any, between: Network, known: None, installed: Installed
) -> None:
    visitor.driver.get(between.url)
    found = visitor.driver.execute_async_script(
        NAMED
        + """
        const done = arguments[0];
        Promise.all(named.filter((url) => url.includes("/web/")).map(async (url) => {
          const response = await fetch(url, { cache: "no-store" });
          const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await response.arrayBuffer()));
          const path = url.replace(/.*\\/web\\/[0-9a-f]+\\//, "");
          return [path, response.headers.get("content-encoding"), Array.from(hash)];
        })).then(done);
        """
    )
    assert {encoding for _, encoding, _ in found} == {"br", "gzip", None}
    for path, _, digest in found:
        assert bytes(digest) == hashlib.sha256((installed.page / "web" / path).read_bytes()).digest(), path


def test_the_next_visit_goes_on_from_the_snapshot_and_speaks(visitor: Any, between: Network, known: None) -> None:
    visit = Visit(visitor, between.url)
    visit.until_ready()
    visit.send("What time is it?")
    seen = visit.until_spoken()
    assert seen["boot"]["from_snapshot"] is True
    assert seen["boot"]["snapshot_failures"] == []
    said = words_of(" ".join(unit["text"] for unit in seen["units"]))
    assert shared_in_order(said, visit.recording().words()) > 0.5


def test_python_from_a_snapshot_is_like_one_from_its_files(visitor: Any, between: Network, known: None) -> None:
    found = visitor.driver.execute_async_script(ANOTHER_PYTHON)
    assert "error" not in found, found["error"]
    assert found["woken"] == {"from_snapshot": True, "snapshot_failures": []}
    assert (found["later"], found["called"], found["web"]) == ("later", "called", 42)
    assert found["url"] == between.url + "health"
    assert found["version"] == found["health"]["version"]
    assert found["source"].startswith("def start(")
    assert len(set(found["random"])) == 2


def test_the_service_worker_has_the_files_when_there_is_no_server_and_nothing_else(
    visitor: Any, between: Network, known: None
) -> None:
    visitor.driver.get(between.url)
    between.go_down()
    answered = visitor.driver.execute_async_script(
        NAMED
        + """
        const done = arguments[0];
        Promise.all([...named, new URL("./", location).href].map(async (url) => {
          const answer = await fetch(url, { cache: "no-store" }).catch(() => null);
          return [url, answer?.status ?? 0];
        })).then(done);
        """
    )
    between.come_up()
    files = {url for url, status in answered if status == 200}
    assert files == set(kept(visitor)["onetake-files"]) == {url for url, _ in answered if url.startswith(ways(between))}
    assert {url for url, status in answered if status == 0} == {
        between.url, between.url + "health", between.url + "voices",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("at", "sealed", "why"),
    [(MIDDLE, False, "damaged"), (BUILD_ID, True, "build id mismatch")],
    ids=["damaged", "of another build"],
)
def test_without_a_sound_snapshot_python_starts_from_its_files(
    visitor: Any, between: Network, known: None, at: int, sealed: bool, why: str
) -> None:
    visitor.driver.execute_async_script(SPOIL, at, sealed)
    boot = wake(visitor, between.url)
    assert boot["from_snapshot"] is False
    (failure,) = boot["snapshot_failures"]
    assert why in failure
    until_kept(visitor)


def test_a_pyodide_that_cannot_restore_starts_from_its_files(
    visitor: Any, between: Network, known: None, fault: Callable[[str], None]
) -> None:
    fault(WITHOUT % "_loadSnapshot")
    boot = wake(visitor, between.url)
    assert boot["from_snapshot"] is False
    (failure,) = boot["snapshot_failures"]
    assert failure.startswith("restoring: ")
    until_kept(visitor)


def test_snapshots_can_be_turned_off(visitor: Any, between: Network, known: None) -> None:
    snapshot = kept(visitor)["snapshot"]
    visitor.driver.execute_script("localStorage.onetakeSnapshot = 'off'")
    boot = wake(visitor, between.url)
    assert kept(visitor)["snapshot"] == "off"
    visitor.driver.execute_script("localStorage.onetakeSnapshot = arguments[0]", snapshot)
    assert boot["from_snapshot"] is False
    assert boot["snapshot_failures"] == []


def test_a_new_release_is_seen_at_once_and_nothing_of_the_old_one_stays(
    visitor: Any, between: Network, known: None, server: Any, run_server: Any, installed: Installed, tmp_path: Path
) -> None:
    old = frozenset(addresses(kept(visitor)))
    next_release = tmp_path / "next"
    shutil.copytree(installed.directory, next_release)
    for name in ("onetake/units.py", "onetake/server/page_files/web/face.mjs"):
        with (next_release / name).open("a", encoding="utf-8") as file:
            file.write("\n")
    with run_server(PYTHONPATH=str(next_release)) as released:
        between.lead_to(released.url)
        visitor.driver.execute_script("sessionStorage.clear()")  # the new server does not know the conversation
        before = len(visitor.requests())
        boot = wake(visitor, between.url)
        requests = {request["url"] for request in visitor.requests()[before:]}
        until_kept(visitor, old)
    between.lead_to(server.url)
    assert boot["from_snapshot"] is False
    assert boot["snapshot_failures"] == []
    assert requests & old == set()
    assert len({url.split("/")[4] for url in requests if url.startswith(between.url + "web/")}) == 1


def test_a_pyodide_that_cannot_take_snapshots_wakes_without(
    visitor: Any, between: Network, fault: Callable[[str], None]
) -> None:
    forget_snapshot(visitor, between.url)
    fault(WITHOUT % "_makeSnapshot")
    boot = wake(visitor, between.url)
    assert boot["from_snapshot"] is False
    (failure,) = boot["snapshot_failures"]
    assert failure.startswith("taking: ")
    assert kept(visitor)["onetake-snapshot"] == []


def test_where_nothing_may_be_kept_python_starts_from_its_files(
    visitor: Any, between: Network, fault: Callable[[str], None]
) -> None:
    fault(DENIED)
    boot = wake(visitor, between.url)
    assert boot["from_snapshot"] is False
    (failure,) = boot["snapshot_failures"] or until_it_is_told(visitor)
    assert "insecure" in failure


def test_where_there_is_no_room_nothing_is_kept_and_it_is_told(visitor: Any, between: Network, first: First) -> None:
    forget_snapshot(visitor, between.url)
    quota = {"origin": between.url, "quotaSize": 1_000_000}
    visitor.driver.execute_cdp_cmd("Storage.overrideQuotaForOrigin", quota)
    wake(visitor, between.url)
    (failure,) = until_it_is_told(visitor)
    visitor.driver.execute_cdp_cmd("Storage.overrideQuotaForOrigin", {"origin": between.url})
    assert failure.startswith("keeping: ")
    assert kept(visitor)["onetake-snapshot"] == []
