"""How soon the voice is ready, beside what nobody can do without: a page that only calls `loadPyodide()`.

    python -m tests.bench        # these figures among all

All times are from the start of the navigation. In each run somebody comes for the first time, with a fresh profile, and
comes back after the browser was closed, to the page and then to the bare page; and somebody else comes for the first
time to the bare page. So a busy machine is busy for all of them, and the ratios are of what is in the same run.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from tests.bench.figures import RUNS, Figure, known, middle
from tests.conftest import CHROME_FLAGS, ROOT, find_chromium

LIMIT_FIRST = 1.15  # times the bare page
LIMIT_NEXT = 0.35
LIMIT_TEXT_MS = 300
PATIENCE_S = 120

# The bare page is the server's JSON with this before all scripts.
BARE = """
if (location.pathname === "/health") (async () => {
  const indexURL = new URL("/%svendor/pyodide/", location).href;
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  await loadPyodide({ indexURL, packageBaseUrl: indexURL });
  window.bareReady = performance.now();
})();
"""

# When the page begins to listen to the text box. It takes text from when it is painted, too.
LISTENS = """
if (location.pathname === "/") {
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (this.id === "text" && type === "input") window.listens = performance.now();
    return listen.call(this, type, ...rest);
  };
}
"""
TAKES_TEXT = """
const painted = performance.getEntriesByName("first-contentful-paint")[0];
return painted && window.listens ? Math.max(painted.startTime, window.listens) : null;
"""

# Whether all is kept that the next visit can use.
KEPT = """
return (async () => {
  const registration = await navigator.serviceWorker.getRegistration();
  return registration?.active?.state === "activated" && localStorage.onetakeSnapshot?.startsWith(location.origin);
})();
"""

SENT = """
const [page] = performance.getEntriesByType("navigation");
const files = performance.getEntriesByType("resource");
return files.reduce((sum, { transferSize }) => sum + transferSize, page.transferSize);
"""


def run() -> Iterator[Figure]:
    """Measure everything."""
    found: dict[str, list[float]] = {}
    with _server() as url:
        for _ in range(RUNS):
            for name, value in _visits(url):
                found.setdefault(name, []).append(value)
    for visit, limit in (("first", LIMIT_FIRST), ("next", LIMIT_NEXT)):
        page, bare = found[f"{visit} visit"], found[f"{visit} bare visit"]
        ratios = [one / other for one, other in zip(page, bare, strict=True)]
        yield middle(f"{visit} visit to voice ready, against a bare loadPyodide()", ratios, "times", most=limit)
        yield middle(f"{visit} visit to voice ready", page, "ms")
        yield middle(f"{visit} visit to a bare loadPyodide()", bare, "ms")
        yield middle(f"{visit} visit to a text box that takes text", found[f"{visit} text"], "ms", most=LIMIT_TEXT_MS)
        yield known(f"{visit} visit, sent over the wire", found[f"{visit} bytes"][0] / 1e6, "MB")


def _visits(url: str) -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as profile:
        for visit in ("first", "next"):
            with _browser(profile, url) as driver:
                driver.get(url)
                yield f"{visit} visit", _until(driver, "return window.onetake?.inspect().boot.ready_ms")
                yield f"{visit} text", _until(driver, TAKES_TEXT)
                yield f"{visit} bytes", _until(driver, SENT)
                _until(driver, KEPT)
        yield "next bare visit", _bare_visit(profile, url)
    with tempfile.TemporaryDirectory() as profile:
        yield "first bare visit", _bare_visit(profile, url)


def _bare_visit(profile: str, url: str) -> float:
    with _browser(profile, url) as driver:
        driver.get(url + "health")
        return _until(driver, "return window.bareReady")


def _until(driver: Chrome, script: str) -> float:
    """What the script returns as soon as it is something."""
    limit_s = time.monotonic() + PATIENCE_S
    while not (value := driver.execute_script(script)):
        if time.monotonic() > limit_s:
            raise SystemExit(f"Not within {PATIENCE_S} s: {script}")
        time.sleep(0.05)
    return float(value)


@contextmanager
def _browser(profile: str, url: str) -> Iterator[Chrome]:
    """Chromium with that profile. It has come up and knows the server: that is no part of a visit."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("The bench needs Chromium and ChromeDriver; the tests install them (see the README).")
    options = ChromeOptions()
    options.binary_location = chromium.browser
    for flag in ("--headless=new", f"--user-data-dir={profile}", *CHROME_FLAGS):
        options.add_argument(flag)
    driver = Chrome(options=options, service=ChromeService(executable_path=chromium.driver))
    try:
        driver.get(url + "voices")
        with urlopen(url + "health") as health:
            source = f"{{{BARE % json.load(health)['web']}}}{{{LISTENS}}}"
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        yield driver
    finally:
        driver.quit()


@contextmanager
def _server() -> Iterator[str]:
    """The server as people start it."""
    command = [sys.executable, "-m", "onetake.server.cli", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            if address is None:
                raise SystemExit("The server did not start.")
            yield address[0]
        finally:
            server.terminate()
