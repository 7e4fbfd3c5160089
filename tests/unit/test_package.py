"""What is shipped: the wheel carries the whole page, the page's own wheel needs nothing, no host is named."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from onetake.errors import UsageError
from onetake.server import page

ROOT = Path(__file__).resolve().parents[2]
PAGE = "onetake/server/page_files/"


@pytest.fixture(scope="session")
def wheel_names(built_wheel):
    return set(zipfile.ZipFile(built_wheel).namelist())


def run_installed(installed, tmp_path, code):
    """What `code` prints with onetake imported from the built wheel."""
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, cwd=tmp_path, env=installed.env, text=True).strip()


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "web/vendor/pyodide/pyodide.mjs",
        "web/vendor/pyodide/pyodide.asm.mjs",
        "web/vendor/pyodide/pyodide.asm.wasm",
        "web/vendor/pyodide/python_stdlib.zip",
        "web/vendor/pyodide/pyodide-lock.json",
        "web/vendor/pyodide/LICENSE",
        "web/vendor/marked/marked.esm.js",
        "web/vendor/marked/LICENSE",
        "web/vendor/dompurify/purify.es.mjs",
        "web/vendor/dompurify/LICENSE",
    ],
)
def test_wheel_carries(wheel_names, name):
    assert PAGE + name in wheel_names


def test_wheel_carries_every_own_file_of_the_page(wheel_names):
    own = {f"web/{path.name}" for kind in ("mjs", "js", "css") for path in (ROOT / "web").glob(f"*.{kind}")}
    assert {PAGE + name for name in own} <= wheel_names


def test_wheel_carries_nothing_about_building_the_page(wheel_names):
    unwanted = ("node_modules", "package.json", "package-lock.json", "wheels.txt", "build.py", "/.")
    assert [name for name in wheel_names if any(part in name for part in unwanted)] == []


def test_pyodide_can_load_exactly_the_packages_that_are_served():
    directory = page.page_root() / "web" / "vendor" / "pyodide"
    lock = json.loads((directory / "pyodide-lock.json").read_text(encoding="utf-8"))
    named = {entry["file_name"]: entry["sha256"] for entry in lock["packages"].values()}
    served = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in directory.glob("*.whl")}
    assert named == served
    assert set(lock["packages"]) == {"micropip"}


def test_base_install_needs_nothing_in_pyodide(built_wheel):
    archive = zipfile.ZipFile(built_wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    requirements = HeaderParser().parsestr(archive.read(name).decode()).get_all("Requires-Dist", [])
    base = [requirement for requirement in requirements if "extra ==" not in requirement]
    assert base
    assert [requirement for requirement in base if "sys_platform != 'emscripten'" not in requirement] == []


def test_page_root_is_in_the_wheel_once_installed(installed, tmp_path):
    code = "from onetake.server.page import page_root; print(page_root())"
    assert run_installed(installed, tmp_path, code) == str(installed.page)


def test_page_wheel_holds_all_code_but_the_server():
    name, content = page.page_wheel()
    package = ROOT / "py" / "onetake"
    code = {f"onetake/{file.relative_to(package).as_posix()}" for file in package.rglob("*.py")}
    held = {name for name in zipfile.ZipFile(io.BytesIO(content)).namelist() if name.endswith(".py")}
    assert held == {name for name in code if not name.startswith("onetake/server/")}
    assert name == "onetake-0.1.0-py3-none-any.whl"


def test_page_wheel_is_the_same_from_an_editable_install_and_from_the_wheel(installed, tmp_path):
    code = "from onetake.server.page import *; print(content_hash(page_wheel()[1]))"
    editable, from_wheel = page.content_hash(page.page_wheel()[1]), run_installed(installed, tmp_path, code)
    assert editable == from_wheel, "if pyproject.toml has changed since, run pip install -e . again"


def test_page_wheel_changes_with_the_code(tmp_path, monkeypatch):
    before = page.page_wheel()
    package = tmp_path / "onetake"
    package.mkdir()
    (package / "units.py").write_text("edited = True\n", encoding="utf-8")
    monkeypatch.setattr(page, "_PACKAGE", package)
    name, content = page.page_wheel()
    assert name == before[0]
    assert page.content_hash(content) != page.content_hash(before[1])


def test_page_wheel_records_every_file_with_its_hash():
    archive = zipfile.ZipFile(io.BytesIO(page.page_wheel()[1]))
    (record,) = (name for name in archive.namelist() if name.endswith("/RECORD"))
    rows = {row[0]: tuple(row[1:]) for row in csv.reader(archive.read(record).decode().splitlines())}
    expected = {record: ("", "")}
    for name in set(archive.namelist()) - {record}:
        content = archive.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        expected[name] = (f"sha256={digest}", str(len(content)))
    assert rows == expected


def test_a_page_that_was_never_built_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "_PACKAGE", tmp_path / "py" / "onetake")
    with pytest.raises(UsageError, match=r"must hold index.html and web/vendor/.*pip install"):
        page.page_root()


def test_no_file_names_a_registry_or_a_content_network():
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.check_output(listed, cwd=ROOT, text=True).split("\0")
    files = [ROOT / name for name in names if (ROOT / name).is_file() and ROOT / name != Path(__file__)]
    assert len(files) > 10
    host = re.compile(r"registry\.npm[j]s|pypi\.[o]rg|python[h]osted|jsdelivr\.[n]et|unpkg\.[c]om")
    assert [file for file in files if host.search(file.read_text(encoding="utf-8", errors="replace"))] == []
