"""Imports point inward: browser → core, server → core, never back and never browser ↔ server."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "py"

JAVASCRIPT = {"js", "pyodide", "pyodide_js", "micropip", "onetake_web"}

# Core has no I/O, no event loop and no clock of its own; what would give it one of these.
NOT_IN_CORE = {
    "asyncio", "concurrent", "http", "multiprocessing", "os", "pathlib", "select", "selectors",
    "shutil", "socket", "ssl", "subprocess", "tempfile", "threading", "time", "urllib",
}  # fmt: skip


def layer_of(module: str) -> str:
    """The layer a module of onetake belongs to: "browser", "server" or else "core"."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in {"browser", "server"} else "core"


def imports(module: str, source: str, is_package: bool) -> Iterator[str]:
    """Full names of all that a module's source imports, wherever it does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level + is_package or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def violations(module: str, source: str, is_package: bool = False) -> list[str]:
    """What a module imports against the rules, one sentence each."""
    layer = layer_of(module)
    found = []
    for name in imports(module, source, is_package):
        top = name.split(".")[0]
        if top == "onetake":
            if layer_of(name) not in {"core", layer}:
                found.append(f"{module} ({layer}) imports {name} ({layer_of(name)})")
        elif top in JAVASCRIPT:
            if layer != "browser":
                found.append(f"{module} imports {name}: only onetake.browser touches JavaScript")
        elif top not in sys.stdlib_module_names:
            if layer != "server":
                found.append(f"{module} imports {name}: only onetake.server uses other libraries")
        elif layer == "core" and top in NOT_IN_CORE:
            found.append(f"{module} imports {name}: core does no I/O and has no loop and no clock")
    return found


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    files = {file.relative_to(SOURCES).with_suffix(""): file for file in sorted(SOURCES.rglob("*.py"))}
    assert files
    return {".".join(name.parts).removesuffix(".__init__"): file for name, file in files.items()}


@pytest.mark.parametrize("module", modules())
def test_imports_point_inward(module):
    file = modules()[module]
    assert violations(module, file.read_text(encoding="utf-8"), file.name == "__init__.py") == []


@pytest.mark.parametrize("module", modules())
def test_every_module_imports_on_plain_python(module):
    importlib.import_module(module)
    assert not JAVASCRIPT & sys.modules.keys()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("onetake.units", "import js"),
        ("onetake.units", "def later():\n    from pyodide.ffi import create_proxy"),
        ("onetake.server.app", "import pyodide_js"),
        ("onetake.units", "import asyncio"),
        ("onetake.units", "from time import monotonic"),
        ("onetake.units", "import fastapi"),
        ("onetake.browser.page", "import pydantic_ai"),
        ("onetake.units", "from onetake.server.replies import Reply"),
        ("onetake.units", "from onetake import browser"),
        ("onetake.streams.sse", "from ..browser import scope"),
        ("onetake.browser.page", "import onetake.server"),
        ("onetake.server.app", "from ..browser.page import Page"),
    ],
)
def test_an_import_against_the_rules_is_found(module, source):
    assert len(violations(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("onetake.units", "import re\nfrom onetake.errors import UsageError"),
        ("onetake.browser.page", "import js, asyncio\nfrom ..units import Cutter\nfrom .scope import Scope"),
        ("onetake.server.app", "import fastapi, os\nfrom onetake.units import Cutter"),
    ],
)
def test_an_import_within_the_rules_is_not(module, source):
    assert violations(module, source) == []


def test_relative_imports_of_a_package_start_at_the_package():
    source, name = "from . import scope", "onetake.browser.scope"
    assert list(imports("onetake.browser", source, is_package=True)) == [name]
    assert list(imports("onetake.browser.page", source, is_package=False)) == [name]
