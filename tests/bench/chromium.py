"""Runs a module of figures inside Pyodide, in headless Chromium, on the files and the wheel that the server serves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from tests.conftest import CHROME_FLAGS, find_chromium

RUN_S = 300

# The document is the server's JSON. Its policy is off: some figures are of what other pages do.
RUN = r"""
const [source, done] = arguments;
(async () => {
  const health = await (await fetch("/health")).json();
  const [web] = (await (await fetch("/")).text()).match(/web\/[0-9a-f]+\//);
  const vendor = new URL(`/${web}vendor/pyodide/`, location).href;
  const { loadPyodide } = await import(`${vendor}pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: vendor, packageBaseUrl: vendor });
  await pyodide.loadPackage("micropip");
  await pyodide.pyimport("micropip").install(new URL("/" + health.wheel, location).href);
  const modules = await Promise.all(["audio", "pcm", "take"].map((name) => import(`/${web}${name}.mjs`)));
  pyodide.registerJsModule("onetake_web", Object.assign({}, ...modules));
  pyodide.FS.writeFile("figures.py", source);
  return pyodide.runPythonAsync(`
import inspect, json, figures
found = figures.run()
json.dumps(await found if inspect.isawaitable(found) else list(found))`);
})().then(done, (error) => done(`!${error}`));
"""


def figures_in_pyodide(module: ModuleType) -> Iterator[Any]:
    """What `module.run()` yields there, or returns once awaited.

    `module` may import nothing but the standard library, onetake and what the browser has.
    """
    chromium = find_chromium()
    if chromium is None:
        raise SystemExit("The bench needs Chromium and ChromeDriver; the tests install them (see the README).")
    assert module.__file__ is not None
    options = ChromeOptions()
    options.binary_location = chromium.browser
    for flag in ("--headless=new", "--autoplay-policy=no-user-gesture-required", *CHROME_FLAGS):
        options.add_argument(flag)
    command = [sys.executable, "-m", "onetake.server.cli", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address is not None
            driver = Chrome(options=options, service=ChromeService(executable_path=chromium.driver))
            try:
                driver.set_script_timeout(RUN_S)
                driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
                driver.get(address[0] + "health")
                result = driver.execute_async_script(RUN, Path(module.__file__).read_text(encoding="utf-8"))
            finally:
                driver.quit()
        finally:
            server.terminate()
    if result.startswith("!"):
        raise SystemExit(f"The figures could not be taken in Chromium: {result[1:]}")
    yield from json.loads(result)
