"""How the page is served: under paths that name its content, of the types that browsers insist on."""

from __future__ import annotations

import json
import re
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from onetake.server import errors
from onetake.server.page import page_root
from onetake.server.page_routes import router


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    errors.install(app)
    app.include_router(router(model="scripted", voice=None))
    return TestClient(app)


def files_named_by(html: str) -> list[str]:
    return re.findall(r'="(web/[^"]+)"', html)


def test_index_names_every_file_by_its_content(client: TestClient) -> None:
    index = client.get("/")
    assert index.headers["cache-control"] == "no-cache"
    named = files_named_by(index.text)
    assert named
    for path in named:
        assert re.match(r"web/[0-9a-f]{16}/", path)
        assert "immutable" in client.get(path).headers["cache-control"]


def imported_by(module: Path) -> set[Path]:
    """The modules of the page that this one imports, and those that they import."""
    found = {module}
    for name in re.findall(r'(?:from|import\() ?"(\./[^"]+)"', module.read_text(encoding="utf-8")):
        found |= imported_by((module.parent / name).resolve())
    return found


def test_index_names_all_that_is_loaded_before_the_voice_is_ready_and_nothing_else(client: TestClient) -> None:
    """What it does not name is found late and not kept for the next visit; what is named in vain is loaded in vain."""
    web = page_root() / "web"
    named = {web / path.split("/", 2)[2] for path in files_named_by(client.get("/").text)}
    pyodide = {*(web / "vendor" / "pyodide").iterdir()} - {*web.glob("vendor/pyodide/LICENSE")}
    loaded = {path for path in pyodide if path.suffix not in {".br", ".gz", ".whl"}}
    assert named == loaded | imported_by(web / "boot.mjs") | {web / "style.css", web / "icon.svg"}


def test_index_names_the_wheel_that_health_names(client: TestClient) -> None:
    assert f'href="{client.get("/health").json()["wheel"]}"' in client.get("/").text


def test_the_service_worker_keeps_what_index_names(client: TestClient) -> None:
    answer = client.get("/service-worker.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "no-cache"
    (kept,) = re.findall(r"const FILES = (\[.*?\]);", answer.text)
    index = client.get("/").text
    assert json.loads(kept) == re.findall(r'="((?:web|wheels)/[^"]+)"', index) != []


def test_a_body_is_the_same_whichever_way_it_is_sent(client: TestClient) -> None:
    for path in [*files_named_by(client.get("/").text), client.get("/health").json()["wheel"]]:
        plain = client.get(path, headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        packed = client.get(path, headers={"accept-encoding": "gzip"})
        assert packed.content == plain.content
        assert packed.headers["content-type"] == plain.headers["content-type"]
        if "content-encoding" in packed.headers:
            assert int(packed.headers["content-length"]) < len(plain.content)
            assert packed.headers["x-uncompressed-length"] == str(len(plain.content))


def test_wasm_and_modules_have_the_types_that_browsers_insist_on(client: TestClient) -> None:
    base = files_named_by(client.get("/").text)[0].rsplit("/", 1)[0]
    vendor = f"{base}/vendor/pyodide"
    assert client.get(f"{vendor}/pyodide.asm.wasm").headers["content-type"] == "application/wasm"
    assert client.get(f"{vendor}/pyodide.mjs").headers["content-type"].startswith("text/javascript")


def test_files_of_another_release_are_not_served(client: TestClient) -> None:
    answer = client.get("web/0123456789abcdef/boot.mjs")
    assert answer.status_code == 404
    assert "load the page again" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["..%2findex.html", "%2e%2e/index.html", "vendor", "nothing.mjs"])
def test_nothing_but_the_files_of_the_page_is_served(client: TestClient, path: str) -> None:
    base = files_named_by(client.get("/").text)[0].split("/")[1]
    assert client.get(f"web/{base}/{path}").status_code == 404


def test_the_wheel_that_health_names_is_one_without_the_server(client: TestClient) -> None:
    wheel = client.get(client.get("/health").json()["wheel"])
    names = zipfile.ZipFile(BytesIO(wheel.content)).namelist()
    assert "onetake/units.py" in names
    assert not [name for name in names if name.startswith("onetake/server")]
