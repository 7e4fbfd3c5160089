"""Tests inside Pyodide in Chromium, by pytest-pyodide, on the wheel as built.

    @run_in_pyodide
    async def test_it(selenium):
        from onetake.units import Cutter
        ...

The served directory holds Pyodide's core, the page as the wheel carries it (below /page/, so that
`await import("/page/web/pcm.mjs")` works), and the packages that run_in_pyodide needs. Before a test starts,
the page's own wheel is installed and imported, and the page's JS modules are there as `onetake_web`, as
boot.mjs has it. A test that leaves a PyProxy alive fails.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from pytest_pyodide import get_global_config, spawn_web_server
from pytest_pyodide.fixture import selenium_common
from pytest_pyodide.hook import pytest_wrapper
from pytest_pyodide.runner import SeleniumChromeRunner

from tests.conftest import Chromium, Installed

# What run_in_pyodide imports in the page, with what each needs there. They are packed from this environment:
# nothing is downloaded, and both sides run the same pytest.
RUNNER_PACKAGES = {
    "pytest": ["iniconfig", "packaging", "pluggy", "pygments"],
    "iniconfig": [],
    "packaging": [],
    "pluggy": [],
    "pygments": [],
    "tblib": [],
}

# Everything a test or its runner touches is touched before it starts: what it leaves behind is its own.
LOAD_PYODIDE = """
const here = (path) => new URL(path, location).href;
let pyodide = await loadPyodide({ jsglobals: self, packageBaseUrl: here("/") });
pyodide._module.enable_pyproxy_allocation_tracing();
const errorCallback = (message) => { throw new Error(message); };
await pyodide.loadPackage(["micropip", "pytest", "tblib"], { errorCallback });
const modules = await Promise.all(PAGE_MODULES.map((name) => import(here(`/page/web/${name}`))));
pyodide.registerJsModule("onetake_web", Object.assign({}, ...modules));
await pyodide.runPythonAsync(`
import importlib, micropip, pkgutil
await micropip.install("${here("/PAGE_WHEEL")}")
import onetake
for module in pkgutil.walk_packages(onetake.__path__, "onetake."):
    importlib.import_module(module.name)
`);
await pyodide.loadPackagesFromImports("");
"""


def pytest_configure(config: pytest.Config) -> None:
    """Make the directory to serve; run_in_pyodide reads its lock file as soon as a test is imported."""
    dist = Path(tempfile.mkdtemp(prefix="onetake-dist-"))
    config.add_cleanup(lambda: shutil.rmtree(dist))
    config.option.dist_dir = pytest_wrapper.pyodide_dist_dir = dist
    packages = {name: pack(name, dist) for name in RUNNER_PACKAGES}
    (dist / "pyodide-lock.json").write_text(json.dumps({"packages": packages}), encoding="utf-8")


def pack(name: str, dist: Path) -> dict[str, Any]:
    """Pack an installed package, pure Python, as a wheel in `dist`; return its entry for the lock file."""
    package = distribution(name)
    wheel = dist / f"{name}-{package.version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in package.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                archive.write(str(file.locate()), file.as_posix())
    return {
        "name": name,
        "version": package.version,
        "file_name": wheel.name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "install_dir": "site",
        "package_type": "package",
        "imports": [name],
        "depends": RUNNER_PACKAGES[name],
    }


@pytest.fixture(scope="session")
def web_server_main(
    pytestconfig: pytest.Config, chromium: Chromium, installed: Installed
) -> Iterator[tuple[str, int, Path]]:
    """Serve what the built wheel carries; takes the place of pytest-pyodide's fixture of the same name."""
    dist: Path = pytestconfig.option.dist_dir
    shutil.copytree(installed.page, dist / "page")
    lock_file = dist / "pyodide-lock.json"
    runner_packages = json.loads(lock_file.read_text(encoding="utf-8"))["packages"]
    shutil.copytree(dist / "page" / "web" / "vendor" / "pyodide", dist, dirs_exist_ok=True)
    lock = json.loads(lock_file.read_text(encoding="utf-8"))
    lock["packages"] |= runner_packages
    lock_file.write_text(json.dumps(lock), encoding="utf-8")
    write = "from onetake.server.page import *; n, c = page_wheel(); open(n, 'wb').write(c); print(n, end='')"
    page_wheel = subprocess.check_output(
        [sys.executable, "-c", write], cwd=dist, env=installed.env, text=True
    )

    config = get_global_config()
    config.set_flags("chrome", [*chromium.flags, "--autoplay-policy=no-user-gesture-required"])
    # boot.mjs starts the page; the rest is what it gives to Python.
    page_modules = sorted({file.name for file in (dist / "page" / "web").glob("*.mjs")} - {"boot.mjs"})
    load = LOAD_PYODIDE.replace("PAGE_WHEEL", page_wheel).replace("PAGE_MODULES", json.dumps(page_modules))
    config.set_load_pyodide_script("chrome", load)
    with pytest.MonkeyPatch.context() as patch, spawn_web_server(dist) as server:
        patch.setenv("SE_CHROMEDRIVER", chromium.driver)  # else Selenium asks the network for one
        patch.setattr(SeleniumChromeRunner, "script_timeout", 60)  # s; the boot alone takes 5
        yield server


@pytest.fixture(scope="session")
def shared_page(request: pytest.FixtureRequest, web_server_main: tuple[str, int, Path]) -> Iterator[Any]:
    """One booted page for all modules: a boot takes longer than most of them."""
    with selenium_common(request, "chrome", web_server_main, browsers={}) as selenium:
        yield selenium


@pytest.fixture(scope="module")
def selenium_module_scope(shared_page: Any, runtime: str) -> Any:
    """Takes the place of pytest-pyodide's fixture of the same name, on which `selenium` rests."""
    return shared_page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check every test that has a loaded Pyodide for PyProxies it leaves behind."""
    fixtures = getattr(item, "funcargs", {})
    selenium = fixtures.get("selenium_module_scope") or fixtures.get("selenium_standalone")
    if selenium is None:
        return (yield)
    with no_leaked_proxies(selenium):
        return (yield)


@pytest.fixture
def leak_check() -> Callable[[Any], AbstractContextManager[None]]:
    """The check that surrounds every test, for the test of the check."""
    return no_leaked_proxies


@contextmanager
def no_leaked_proxies(selenium: Any) -> Iterator[None]:
    """Fail, naming each, if PyProxies made in the block are still alive at its end.

    An error in the block goes first: a test that failed half way is not expected to have cleaned up.
    """
    selenium.run_js("self.proxiesBefore = new Set(pyodide._module.pyproxy_alloc_map.keys());")
    yield
    leaked = selenium.run_js(
        """
        const alive = [...pyodide._module.pyproxy_alloc_map.entries()];
        return alive.filter(([proxy]) => !self.proxiesBefore.has(proxy))
            .map(([proxy, stack]) => `${proxy.type} ${proxy.toString().slice(0, 200)}\n${stack}`);
        """
    )
    if leaked:
        pytest.fail("\n".join([f"PyProxies left alive: {len(leaked)}", *leaked]), pytrace=False)


@pytest.fixture
def selenium_ruler(selenium: Any) -> Any:
    """The page with the ruler voice (ruler.js, and ruler.py to import), its AudioContext and a tap on that."""
    here = Path(__file__)
    if not selenium.run_js("return Boolean(self.ruler)"):
        for script in (here.parents[1] / "page" / "tap.js", here.with_name("ruler.js")):
            selenium.run_js(script.read_text(encoding="utf-8"))
        module = json.dumps(here.with_name("ruler.py").read_text(encoding="utf-8"))
        selenium.run_js(f"pyodide.FS.writeFile('ruler.py', {module}); await ruler.open();")
        selenium.run_js("await pyodide.runPythonAsync('import ruler')")
    return selenium
