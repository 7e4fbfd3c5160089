"""The build hook: what is half done, out of date or tampered with never counts as the page's packages."""

from __future__ import annotations

import gzip
import importlib.util
import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

spec = importlib.util.spec_from_file_location("build", ROOT / "web" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)


@pytest.fixture
def web(tmp_path):
    """A copy of web/ whose vendor/ is up to date."""
    shutil.copytree(ROOT / "web", tmp_path / "web")
    return tmp_path / "web"


def test_what_the_install_assembled_is_up_to_date_and_then_nothing_is_needed(web):
    assert build.is_current(web)
    assert build.PageHook(str(web.parent), {}, None, None, "", "wheel").dependencies() == []


@pytest.mark.parametrize("pin", build.PINS)
def test_a_changed_pin_makes_it_out_of_date(web, pin):
    (web / pin).write_bytes((web / pin).read_bytes() + b"\n")
    assert not build.is_current(web)
    assert build.PageHook(str(web.parent), {}, None, None, "", "wheel").dependencies() == build.FETCHERS


@pytest.mark.parametrize("name", [".stamp", *build.TAKEN.values()])
def test_a_missing_file_makes_it_out_of_date(web, name):
    (web / "vendor" / name).unlink()
    assert not build.is_current(web)


@pytest.mark.parametrize("name", build.COMPRESSED)
@pytest.mark.parametrize("ending", [".br", ".gz"])
def test_a_missing_compressed_file_makes_it_out_of_date(web, name, ending):
    (web / "vendor" / f"{name}{ending}").unlink()
    assert not build.is_current(web)


@pytest.mark.parametrize("name", build.COMPRESSED)
def test_what_is_compressed_is_the_file_and_less_than_half_of_it(web, name):
    plain = web / "vendor" / name
    assert gzip.decompress(Path(f"{plain}.gz").read_bytes()) == plain.read_bytes()
    assert Path(f"{plain}.br").stat().st_size < Path(f"{plain}.gz").stat().st_size < plain.stat().st_size / 2


def test_a_failed_fetch_leaves_what_was_there_and_no_half_of_the_new(web, monkeypatch):
    def fail(web: Path, target: Path) -> list[Path]:
        raise build.VendorError("no network")

    monkeypatch.setattr(build, "take_npm_packages", lambda web, staging, vendor: vendor.mkdir())
    monkeypatch.setattr(build, "take_wheels", fail)
    before = sorted(web.rglob("*"))
    with pytest.raises(build.VendorError, match="no network"):
        build.assemble(web)
    assert sorted(web.rglob("*")) == before


def test_a_wheel_that_pyodide_does_not_name_is_a_clear_error(tmp_path):
    lock = tmp_path / "pyodide-lock.json"
    lock.write_text(json.dumps({"packages": {"micropip": {"version": "0.11.1"}}}), encoding="utf-8")
    wheel = tmp_path / "micropip-0.12.0-py3-none-any.whl"
    wheel.touch()
    with pytest.raises(build.VendorError, match=r"does not name micropip 0\.12\.0.*wheels\.txt"):
        build.trim_lock(lock, [wheel])


def test_the_page_is_index_and_web_without_what_builds_it(tmp_path):
    names = "index.html README.md web/boot.mjs web/build.py web/.npmrc web/node_modules/x/x.js"
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list(build.page_files(tmp_path)) == [tmp_path / "index.html", tmp_path / "web" / "boot.mjs"]
