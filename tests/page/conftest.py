"""The real page in a real Chromium against the real server, both from the built wheel.

    def test_it(server, browser):
        browser.driver.get(server.url)
        ...
        assert browser.foreign_requests(server.url) == []
"""

from __future__ import annotations

import json
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from tests.conftest import Chromium, Installed

START_S = 60  # importing the agent library takes seconds where two cores are busy
STOP_S = 15
SCRIPT_S = 120  # a page that starts Python holds its thread, for long where others want the cores

KEPT_FLAGS = (
    "--disable-features=MediaEngagementBypassAutoplayPolicies",  # being played in often earns a page no leave to play
    "--use-fake-device-for-media-stream",  # a usual output and two others, none of which sounds
    "--use-fake-ui-for-media-stream",  # a page may know them
)

#: What a page has kept in its tab's browser, but for the snapshot of Python.
FORGET = """
for (const key of Object.keys(localStorage)) if (key !== "onetakeSnapshot") localStorage.removeItem(key);
"""

ADDRESS = re.compile(r"^Onetake is at (http://\S+)$", re.MULTILINE)


class Server:
    """A running `onetake`; `url` ends with a slash or the token, `log` is what it has printed so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.url = ""
        self._killed = False
        self._lines: list[str] = []
        self._address: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def log(self) -> str:
        return "".join(self._lines)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self._lines.append(line)
                if found := ADDRESS.match(line):
                    self._address.put(found[1])
        self._address.put(None)

    def await_address(self) -> None:
        """Wait for the line that names the address; fail with the log if the server ends or stays silent."""
        try:
            address = self._address.get(timeout=START_S)
        except queue.Empty:
            address = None
        if address is None:
            self.fail(f"printed no address within {START_S} s")
        self.url = address

    def kill(self) -> None:
        """End it as a power cut does; the test expects what follows."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self._killed = True

    def stop(self) -> None:
        """End it as a service manager does; fail if it died before, hangs or stumbles on the way out."""
        if self._killed:
            return
        died = self.process.poll()
        self.process.terminate()
        try:
            status = self.process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.fail(f"did not stop within {STOP_S} s of SIGTERM")
        self._reader.join()
        if died is not None:
            self.fail(f"died with status {died}")
        if status not in (0, -signal.SIGTERM) or "Traceback" in self.log:
            self.fail(f"stumbled on its way out, status {status}")

    def fail(self, what: str) -> NoReturn:
        """Fail the test with what the server did and all it said."""
        pytest.fail(f"The server {what}. Its log:\n{self.log}", pytrace=False)


class Browser:
    """Selenium's driver, and what the browser itself recorded: every request and every console message."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver
        self._events: list[dict[str, Any]] = []
        self._console: list[dict[str, Any]] = []

    def before_page(self, script: str) -> dict[str, Any]:
        """Run `script` in every page from now on before any script of the page; returns its DevTools identifier."""
        source = f"{{{script}}}"  # a block, so that its names do not hide the page's
        added: dict[str, Any] = self.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": source}
        )
        return added

    def forget(self, url: str) -> None:
        """Forget all that pages of that origin have stored, so that the next visit there is the first."""
        kept = {"origin": url.rstrip("/"), "storageTypes": "all"}
        self.driver.execute_cdp_cmd("Storage.clearDataForOrigin", kept)

    def events(self, method: str) -> list[dict[str, Any]]:
        """Parameters of all DevTools events of one kind so far, in order: `Network.responseReceived`, …"""
        for entry in self.driver.get_log("performance"):
            self._events.append(json.loads(entry["message"])["message"])
        return [event["params"] for event in self._events if event["method"] == method]

    def requests(self) -> list[dict[str, Any]]:
        """The page's requests so far, in order: dicts with `url`, `method`, `headers`, maybe `postData`."""
        return [params["request"] for params in self.events("Network.requestWillBeSent")]

    def foreign_requests(self, origin: str) -> list[str]:
        """URLs of requests that went elsewhere than `origin`, a URL ending with a slash."""
        own = (origin, f"blob:{origin}", "data:")
        return [request["url"] for request in self.requests() if not request["url"].startswith(own)]

    def console_errors(self) -> list[str]:
        """Messages of level SEVERE in the console so far: uncaught errors, failed loads, `console.error`."""
        self._console += self.driver.get_log("browser")
        return [entry["message"] for entry in self._console if entry["level"] == "SEVERE"]


@pytest.fixture(scope="session")
def run_server(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractContextManager[Server]]:
    """`run_server(*arguments, NAME="value")`: a context manager that runs one more server, with these arguments and
    environment variables."""

    @contextmanager
    def run(*arguments: str, **variables: str) -> Iterator[Server]:
        process = subprocess.Popen(
            [sys.executable, "-m", "onetake.server.cli", "--no-browser", "--port", "0", *arguments],
            cwd=tmp_path_factory.mktemp("server"),  # nothing may come from the source tree
            env={**installed.env, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        server = Server(process)
        try:
            server.await_address()
            yield server
        except BaseException:
            process.kill()
            raise
        server.stop()

    return run


@pytest.fixture(scope="session")
def server(run_server: Callable[..., AbstractContextManager[Server]]) -> Iterator[Server]:
    """The server of all page tests, with its defaults: the scripted companion and the local voices."""
    with run_server() as server:
        yield server


@pytest.fixture(scope="session")
def open_browser(chromium: Chromium) -> Callable[..., AbstractContextManager[Browser]]:
    """`open_browser(*flags)`: a context manager that starts one more Chromium with a fresh profile."""

    @contextmanager
    def open_with(*flags: str) -> Iterator[Browser]:
        options = ChromeOptions()
        options.binary_location = chromium.browser
        for flag in ("--headless=new", "--window-size=1280,900", *chromium.flags, *flags):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        driver = Chrome(options=options, service=ChromeService(executable_path=chromium.driver))
        driver.set_script_timeout(SCRIPT_S)
        try:
            yield Browser(driver)
        finally:
            driver.quit()

    return open_with


@pytest.fixture(scope="session")
def open_tab(
    open_browser: Callable[..., AbstractContextManager[Browser]],
) -> Iterator[Callable[[], AbstractContextManager[Browser]]]:
    """`open_tab()`: a context manager that opens a new tab in a Chromium that has been here before but has kept nothing
    of it, as far as the page can tell; only Python wakes from its snapshot. Audio needs a gesture as for any visitor (a
    click is one). What is recorded begins with the tab.
    """
    with open_browser(*KEPT_FLAGS) as kept:
        driver = kept.driver

        @contextmanager
        def open_one() -> Iterator[Browser]:
            home = driver.current_window_handle
            driver.switch_to.new_window("tab")
            for kind in ("performance", "browser"):
                driver.get_log(kind)  # of tests before
            yield Browser(driver)
            driver.execute_script(FORGET)
            driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
            driver.close()
            driver.switch_to.window(home)

        yield open_one


@pytest.fixture
def browser(open_tab: Callable[[], AbstractContextManager[Browser]]) -> Iterator[Browser]:
    """A tab for one test, see `open_tab`."""
    with open_tab() as browser:
        yield browser
