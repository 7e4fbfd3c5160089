"""The address that pages of other people name stays; what it leads to is of one release."""

from __future__ import annotations

import re

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


def test_the_address_that_stays_is_asked_for_each_time_and_leads_to_the_code_by_its_content(client: TestClient) -> None:
    stable = client.get("/onetake.js")
    assert stable.headers["cache-control"] == "no-cache"
    assert stable.headers["content-type"].startswith("text/javascript")
    (path,) = re.findall(r'^export \* from "\./(web/[0-9a-f]{16}/onetake\.js)";$', stable.text, re.MULTILINE)
    code = client.get(path)
    assert "createVoice" in code.text
    assert "immutable" in code.headers["cache-control"]


def test_health_tells_where_the_code_is(client: TestClient) -> None:
    assert client.get(client.get("/health").json()["web"] + "python.mjs").status_code == 200


def test_the_types_are_beside_it_as_text(client: TestClient) -> None:
    types = client.get("/onetake.d.ts")
    assert "export function createVoice" in types.text
    assert types.headers["content-type"].startswith("text/plain")
    assert types.headers["cache-control"] == "no-cache"
