"""What tests of more than one kind need: a Chromium, a Redis, and the project as it ships.

Browser and page tests test the built wheel, never the source tree. Unit tests need only Redis from here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# A busy machine makes a healthy example slow.
settings.register_profile("onetake", deadline=None)
settings.load_profile("onetake")

# The packages that bring a browser and its driver, by the ID in /etc/os-release.
BROWSER_PACKAGES = {
    "debian": ("chromium", "chromium-driver"),
    "ubuntu": ("chromium-browser", "chromium-chromedriver"),
}

CHROME_FLAGS = (
    "--no-sandbox",  # as root in a container there is none to be had
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--expose-gc",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing may come from anywhere else
)


class Chromium(NamedTuple):
    """Paths of the browser and of its WebDriver, and the flags every test starts it with."""

    browser: str
    driver: str
    flags: tuple[str, ...]


class Installed(NamedTuple):
    """The built wheel, installed on its own."""

    directory: Path
    env: dict[str, str]  # a process started with it imports onetake from `directory`

    @property
    def page(self) -> Path:
        """The page as the wheel carries it: index.html and web/."""
        return self.directory / "onetake" / "server" / "page_files"


@pytest.fixture(scope="session")
def chromium() -> Chromium:
    """Chromium and ChromeDriver, installed if need be; where that cannot be, the test says what to do."""
    found = find_chromium()
    if found:
        return found
    packages = BROWSER_PACKAGES.get(os_id())
    if packages and install(packages):
        found = find_chromium()
    if not found:
        how = f"as root: apt-get install {' '.join(packages)}" if packages else "by your system's packages"
        pytest.fail(
            f"Browser tests need chromium (or google-chrome) and chromedriver on PATH. Install them {how}.",
            pytrace=False,
        )
    return found


def find_chromium() -> Chromium | None:
    """The browser and the driver on PATH, if both are there."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser = next((path for name in names if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return Chromium(browser, driver, CHROME_FLAGS) if browser and driver else None


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Redis of the tests' own, installed if need be; else the test says what to do."""
    if not (shutil.which("redis-server") or install(["redis-server"])):
        how = "Install redis-server (Debian, Ubuntu: apt-get install redis-server, as root)."
        pytest.fail(f"These tests need redis-server on PATH. {how}", pytrace=False)
    socket = tmp_path_factory.mktemp("redis") / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--daemonize", "no"]
    process = subprocess.Popen(command, cwd=socket.parent, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as log:
        said = ""
        while "ready to accept connections" not in said.lower():
            line = log.readline()
            said += line
            if not line:
                pytest.fail(f"redis-server did not start:\n{said}", pytrace=False)
        yield f"unix://{socket}"
        process.terminate()
        process.wait()


def install(packages: Sequence[str]) -> bool:
    """Install system packages where that may be done and is known how; False elsewhere."""
    if os_id() not in BROWSER_PACKAGES or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    with locked(Path(tempfile.gettempdir(), "onetake-apt-get.lock")):
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            done = subprocess.run(
                ["apt-get", *command],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if done.returncode:
                pytest.fail(f"apt-get {' '.join(command)} failed:\n{done.stdout}", pytrace=False)
    return True


def os_id() -> str:
    """The ID in /etc/os-release ("debian"), or "" where there is none."""
    file = Path("/etc/os-release")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return next((line.removeprefix("ID=").strip('"') for line in lines if line.startswith("ID=")), "")


@pytest.fixture(scope="session")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built from the tree as it is now."""

    def build(directory: Path) -> None:
        run_python("-m", "hatchling", "build", "--target=wheel", f"--directory={directory}", cwd=ROOT)

    (wheel,) = made_once(tmp_path_factory, "wheel", build).glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def installed(built_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The built wheel installed into a directory of its own, which wins over the editable install."""

    def install_wheel(directory: Path) -> None:
        options = ("--no-deps", "--no-index", "--no-compile", "--quiet", "--disable-pip-version-check")
        run_python("-m", "pip", "install", *options, f"--target={directory}", str(built_wheel), cwd=directory)

    directory = made_once(tmp_path_factory, "installed", install_wheel)
    env = {**os.environ, "PYTHONPATH": str(directory)}
    imported = run_python("-c", "import onetake; print(onetake.__file__)", cwd=directory, env=env).strip()
    assert imported == str(directory / "onetake" / "__init__.py")
    return Installed(directory, env)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The directory that `make` has filled, once for all processes of this run."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # each process has its own below it
    made = root / name
    with locked(root / f"{name}.lock"):
        if not made.exists():
            making = factory.mktemp(name)
            make(making)
            making.rename(made)
    return made


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one process at a time is inside."""
    import fcntl  # there is none on Windows

    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_python(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run this Python with `arguments` and return what it prints; fail the test with its output otherwise."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"python {' '.join(arguments)} failed:\n{done.stdout}", pytrace=False)
    return done.stdout
