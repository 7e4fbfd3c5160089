"""How the page is served: under paths that name its content, of the types that browsers insist on."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from onetake.server import errors
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
