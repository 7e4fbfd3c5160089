"""What the other browser tests rest on: they test the built wheel, and the leak check can fail."""

from __future__ import annotations

import hashlib

import pytest
from pytest_pyodide import run_in_pyodide


@run_in_pyodide
def digests_in_page(selenium):
    """SHA-256 of every module of onetake as installed in Pyodide, by its path."""
    import hashlib
    from pathlib import Path

    import onetake

    package = Path(onetake.__file__).parent
    return {
        path.relative_to(package.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in package.rglob("*.py")
    }


@run_in_pyodide
def distributions_in_page(selenium):
    """Names of the distributions installed in Pyodide."""
    from importlib.metadata import distributions

    return sorted(found.name for found in distributions())


def test_pyodide_runs_the_code_of_the_built_wheel(selenium, installed):
    package = installed.directory / "onetake"
    shipped = {
        path.relative_to(installed.directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] != "server"
    }
    assert digests_in_page(selenium) == shipped


def test_micropip_installs_nothing_but_the_wheel(selenium):
    runner = {"iniconfig", "micropip", "packaging", "pluggy", "pygments", "pytest", "tblib"}
    assert {name.lower() for name in distributions_in_page(selenium)} - runner == {"onetake"}


def test_a_proxy_left_alive_is_caught(selenium, leak_check):
    caught = pytest.raises(pytest.fail.Exception, match="left alive: 1\nfunction <function forgotten")
    with caught, leak_check(selenium):
        selenium.run_js("self.forgotten = pyodide.runPython('def forgotten(): ...\\nforgotten');")
    selenium.run_js("self.forgotten.destroy();")


def test_the_page_is_served_as_built(selenium, installed):
    assert selenium.run_js("return (await fetch('/page/index.html')).text()") == (
        installed.page / "index.html"
    ).read_text(encoding="utf-8")
