"""Who gets in: own pages under own names on loopback, and beyond it only those who have the token."""

from __future__ import annotations

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from onetake.server.access import Access, new_token

pytestmark = pytest.mark.anyio

NEEDS_TOKEN = [("GET", "/"), ("GET", "/voices"), ("POST", "/speech"), ("DELETE", "/replies/1")]
PUBLIC = [("GET", path) for path in ("/health", "/onetake.js", "/onetake.d.ts", "/web/0/boot.mjs", "/wheels/0/a.whl")]
ROUTES = NEEDS_TOKEN + PUBLIC
HOSTS = ["localhost", "127.0.0.1", "::1"]
TOKEN = "correct-horse"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def visitor(hosts: list[str] | None, token: str | None, base: str = "http://127.0.0.1:8600") -> httpx2.AsyncClient:
    async def served(request: Request) -> PlainTextResponse:
        return PlainTextResponse("served")

    app = Starlette(routes=[Route("/{path:path}", served, methods=["GET", "POST", "PUT", "DELETE"])])
    guarded = Access(app, hosts=hosts, token=token)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(guarded), base_url=base)


def code(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# -- on loopback ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:8600", "localhost:8600", "LOCALHOST", "[::1]:8600"])
async def test_the_own_names_are_served(host: str) -> None:
    async with visitor(HOSTS, None) as visit:
        assert (await visit.get("/voices", headers={"host": host})).text == "served"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8600", "localhost.evil.example", "", "[::1", "user@127.0.0.1.evil.example"]
)
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_foreign_host_name_is_refused_everywhere(method: str, path: str, host: str) -> None:
    async with visitor(HOSTS, None) as visit:
        assert code(await visit.request(method, path, headers={"host": host})) == (400, "foreign_host")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:9000",
        "http://localhost:8600",
        "http://127.0.0.1:8600.evil.example",
        "http://[",
    ],
)
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_page_of_another_origin_is_refused_everywhere(method: str, path: str, origin: str) -> None:
    async with visitor(HOSTS, None) as visit:
        assert code(await visit.request(method, path, headers={"origin": origin})) == (403, "foreign_origin")


async def test_the_own_page_is_served() -> None:
    async with visitor(HOSTS, None) as visit:
        assert (await visit.post("/speech", headers={"origin": "http://127.0.0.1:8600"})).text == "served"


# -- beyond --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), NEEDS_TOKEN)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer ✗".encode()},
        {"cookie": "onetake-8600=wrong"},
        {"cookie": f"onetake-9999={TOKEN}"},
        {"cookie": f"other={TOKEN}"},
        {"cookie": "=;;;=\x01"},
    ],
)
async def test_without_the_token_nothing_is_served(method: str, path: str, headers: dict[str, str]) -> None:
    async with visitor(None, TOKEN) as visit:
        assert code(await visit.request(method, path, headers=headers)) == (401, "token_required")


@pytest.mark.parametrize(("method", "path"), PUBLIC)
async def test_code_that_anybody_may_read_needs_no_token(method: str, path: str) -> None:
    async with visitor(None, TOKEN) as visit:
        assert (await visit.request(method, path)).text == "served"


@pytest.mark.parametrize("path", ["/health/", "/healthy", "/web", "/onetake.json", "/voices/web/"])
async def test_what_only_looks_like_code_needs_the_token(path: str) -> None:
    async with visitor(None, TOKEN) as visit:
        assert code(await visit.get(path)) == (401, "token_required")


@pytest.mark.parametrize("query", ["", "token=", "token=wrong", "token", "Token=correct-horse"])
async def test_a_wrong_link_does_not_let_in(query: str) -> None:
    async with visitor(None, TOKEN) as visit:
        assert code(await visit.get(f"/?{query}")) == (401, "token_required")
        assert not visit.cookies


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_program_shows_the_token_with_each_request(method: str, path: str) -> None:
    async with visitor(None, TOKEN) as visit:
        response = await visit.request(method, path, headers={"authorization": f"Bearer {TOKEN}"})
        assert response.text == "served"


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_visit_by_the_link_lets_the_browser_in_from_then_on(method: str, path: str) -> None:
    async with visitor(None, TOKEN, "http://box.example:8600") as visit:
        entered = await visit.get(f"/?token={TOKEN}")
        assert 'content="0; url=./"' in entered.text
        assert TOKEN not in entered.text
        assert entered.headers["cache-control"] == "no-store"
        said = entered.headers["set-cookie"].lower()
        assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in said.split(";")}
        assert (await visit.request(method, path)).text == "served"


async def test_the_link_opens_only_the_page() -> None:
    async with visitor(None, TOKEN) as visit:
        assert code(await visit.get(f"/voices?token={TOKEN}")) == (401, "token_required")


async def test_the_token_does_not_make_a_foreign_page_welcome() -> None:
    async with visitor(None, TOKEN) as visit:
        headers = {"authorization": f"Bearer {TOKEN}", "origin": "http://evil.example"}
        assert code(await visit.post("/speech", headers=headers)) == (403, "foreign_origin")


async def test_beyond_loopback_the_server_has_any_name() -> None:
    async with visitor(None, TOKEN) as visit:
        headers = {"authorization": f"Bearer {TOKEN}", "host": "box.example"}
        assert (await visit.get("/", headers=headers)).text == "served"


async def test_every_token_is_another_one_and_long() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 32


