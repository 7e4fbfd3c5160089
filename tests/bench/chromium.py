"""The bench's page: the real page of the real server (see server.py) in headless Chromium, with the bench's scripts.

    with open_page() as page:
        page.call("flow.mjs", "watched", message, 1)        # awaits what that function returns
        page.figures_in_pyodide([cutter])                   # in the page's Python, without the page
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from tests.bench import figures
from tests.bench.figures import Figure
from tests.bench.packages import fetched
from tests.conftest import CHROME_FLAGS, ROOT, find_chromium

HERE = Path(__file__).parent
CALL_S = 600
BOOT_S = 120

# Making a snapshot for the next visit takes a processor for a while, which no figure here is about.
NO_SNAPSHOT = 'localStorage.onetakeSnapshot = "off";'

CALL = """
const [module, name, given, done] = arguments;
import(`/bench/files/${module}`).then((found) => found[name](...given))
  .then((value) => done({ value }), (error) => done({ error: error.stack ?? String(error) }));
"""

# The document is the server's JSON; `sources` are modules of the bench by their paths.
IN_PYODIDE = r"""
const [sources, names, done] = arguments;
(async () => {
  const [web] = (await (await fetch("/")).text()).match(/web\/[0-9a-f]+\//);
  const { json, startRuntime } = await import(`/${web}runtime.mjs`);
  const pyodide = await startRuntime(`${location.origin}/`, json(`${location.origin}/health`), () => {});
  pyodide.registerJsModule("onetake_web", { ...(await import(`/${web}sound.mjs`)) });
  pyodide.FS.mkdirTree("tests/bench");
  for (const [path, source] of Object.entries(sources)) pyodide.FS.writeFile(path, source);
  pyodide.globals.set("names", JSON.stringify(names));
  return pyodide.runPythonAsync(`
import importlib, inspect, json
found = []
for name in json.loads(names):
    some = importlib.import_module(name).run()
    found += await some if inspect.isawaitable(some) else list(some)
json.dumps(found)`);
})().then((value) => done({ value }), (error) => done({ error: error.stack ?? String(error) }));
"""


class Page:
    """The page, booted, with Chromium's own instruments."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def boot(self) -> None:
        """Open the page and let it speak once."""
        self.driver.get(self.url)
        limit_s = time.monotonic() + BOOT_S
        while (state := self.driver.execute_script("return window.onetake?.inspect().state")) in (None, "booting"):
            if time.monotonic() > limit_s:
                raise SystemExit(f"The page has not come up within {BOOT_S} s.")
            time.sleep(0.02)
        if state == "failed":
            raise SystemExit(self.driver.execute_script("return document.getElementById('boot-text').textContent"))
        # The first reply of a page opens its audio and warms everything up.
        self.call("flow.mjs", "replies", order(("1/0.1s/0ms/20x", 20)), 1)

    @property
    def version(self) -> str:
        """Of the browser."""
        return str(self.driver.capabilities["browserVersion"])

    def call(self, module: str, name: str, *arguments: Any) -> Any:
        """What the function of that name of `tests/bench/{module}` returns, or resolves to, in the page."""
        return self._value(self.driver.execute_async_script(CALL, module, name, arguments))

    def figures_in_pyodide(self, modules: Sequence[ModuleType]) -> list[Figure]:
        """What `run()` of each yields in the page's Python, or returns once awaited. Leaves the page for it.

        They may import nothing but the standard library, onetake, `tests.bench.figures` and what the browser has.
        """
        sources = {
            f"{module.__name__.replace('.', '/')}.py": Path(module.__file__ or "").read_text(encoding="utf-8")
            for module in (figures, *modules)
        }
        self.driver.get(self.url + "health")
        names = [module.__name__ for module in modules]
        result = self._value(self.driver.execute_async_script(IN_PYODIDE, sources, names))
        found: list[Figure] = json.loads(result)
        return found

    def page_bytes(self) -> int:
        """What the page holds after its garbage is collected: JavaScript's objects and buffers, nodes and sounds."""
        for _ in range(2):  # what a finaliser lets go of is garbage only then
            self.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        held = self.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
        return int(held["usedSize"] + held["embedderHeapUsedSize"] + held["backingStorageSize"])

    def wasm_bytes(self) -> int:
        """Python's memory, which never shrinks."""
        return int(self.driver.execute_script("return boundary.bytes()"))

    def _value(self, result: dict[str, Any]) -> Any:
        if "error" in result:
            raise SystemExit(f"Not to be measured in Chromium: {result['error']}")
        return result["value"]


def order(*units: tuple[str, int], rate: float | None = None) -> str:
    """The message for a reply of these units, each with the order for its take and its length (see server.py).

    It is written at `rate` characters a second; None: at once.
    """
    return json.dumps({"rate": rate, "units": units})


@contextmanager
def open_page() -> Iterator[Page]:
    """The page in a fresh profile, booted and warm."""
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("The bench needs Chromium and ChromeDriver; the tests install them (see the README).")
    options = ChromeOptions()
    options.binary_location = chromium.browser
    flags = ("--headless=new", "--window-size=1280,900", "--autoplay-policy=no-user-gesture-required")
    for flag in (*flags, *CHROME_FLAGS):
        options.add_argument(flag)
    command = [sys.executable, "-m", "tests.bench.server", str(fetched())]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            driver = Chrome(options=options, service=ChromeService(executable_path=chromium.driver))
            try:
                assert server.stdout is not None
                url = server.stdout.readline().strip()
                if not url:
                    raise SystemExit("The bench's server did not start.")
                driver.set_script_timeout(CALL_S)
                # Other players bring their worklets as blobs, and the ears are no files of the page either.
                driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
                scripts = [(HERE / name).read_text(encoding="utf-8") for name in ("listening.js", "boundary.js")]
                source = "".join(f"{{{script}}}" for script in (NO_SNAPSHOT, *scripts))
                driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
                page = Page(driver, url)
                page.boot()
                yield page
            finally:
                driver.quit()
        finally:
            server.terminate()
