"""Pages of other origins: those that are allowed, exactly, may use everything; all others are still refused."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from onetake.errors import UsageError
from onetake.server import cli, serving
from onetake.server.access import Access, checked_origin

pytestmark = pytest.mark.anyio

ALLOWED = "https://chat.example"
OTHER = "http://localhost:5173"
TOKEN = "correct-horse"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def visitor(token: str | None = None) -> httpx2.AsyncClient:
    async def served(request: Request) -> PlainTextResponse:
        return PlainTextResponse("served", headers={"location": "/replies/1", "vary": "Accept-Encoding"})

    app = Starlette(routes=[Route("/{path:path}", served, methods=["GET", "POST", "PUT", "DELETE"])])
    guarded = Access(app, hosts=["127.0.0.1"], token=token, origins=[ALLOWED, OTHER])
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(guarded), base_url="http://127.0.0.1:8600")


def preflight(origin: str, method: str = "POST", headers: str = "authorization,content-type") -> dict[str, str]:
    return {"origin": origin, "access-control-request-method": method, "access-control-request-headers": headers}


def varies_by(response: httpx2.Response) -> set[str]:
    return {name.strip() for name in response.headers["vary"].lower().split(",")}


@pytest.mark.parametrize("origin", [ALLOWED, OTHER])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_an_allowed_page_may_ask_and_read_the_answer(method: str, origin: str) -> None:
    async with visitor() as visit:
        answer = await visit.request(method, "/replies", headers={"origin": origin})
        assert answer.text == "served"
        assert answer.headers["access-control-allow-origin"] == origin
        assert answer.headers["access-control-expose-headers"] == "Location, X-Uncompressed-Length"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("token", [None, TOKEN])
async def test_an_allowed_page_may_ask_beforehand_without_a_token(token: str | None, method: str) -> None:
    async with visitor(token) as visit:
        asked = preflight(ALLOWED, method, "authorization,content-type,last-event-id")
        answer = await visit.options("/speech", headers=asked)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == ALLOWED
        assert method in answer.headers["access-control-allow-methods"]


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://chat.example",
        "https://chat.example:8443",
        "https://chat.example.evil.example",
        "https://sub.chat.example",
        "https://CHAT.example",
        "http://localhost",
        "null",
    ],
)
async def test_every_other_page_is_refused_beforehand_and_when_it_asks(origin: str) -> None:
    async with visitor() as visit:
        for answer in (
            await visit.options("/speech", headers=preflight(origin)),
            await visit.post("/speech", headers={"origin": origin}),
            await visit.get("/onetake.js", headers={"origin": origin}),
        ):
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_origin")
            assert f"--allow-origin {origin}" in answer.json()["error"]["message"]
            assert "access-control-allow-origin" not in answer.headers


async def test_an_allowed_page_shows_the_token_and_a_cookie_does_not_do() -> None:
    async with visitor(TOKEN) as visit:
        answer = await visit.get("/voices", headers={"origin": ALLOWED, "authorization": f"Bearer {TOKEN}"})
        assert answer.text == "served"
        cookie = {"origin": ALLOWED, "cookie": f"onetake-8600={TOKEN}"}
        refused = await visit.get("/voices", headers=cookie)
        assert refused.status_code == 401
        assert (await visit.get("/voices", headers={**cookie, "origin": "http://127.0.0.1:8600"})).text == "served"


async def test_an_allowed_page_can_read_why_it_is_refused() -> None:
    async with visitor(TOKEN) as visit:
        refused = await visit.get("/voices", headers={"origin": ALLOWED})
        assert refused.headers["access-control-allow-origin"] == ALLOWED
        assert "pass it as `token`" in refused.json()["error"]["message"]


async def test_no_page_of_another_origin_comes_in_by_the_browsers_credentials() -> None:
    async with visitor() as visit:
        for answer in (
            await visit.options("/speech", headers=preflight(ALLOWED)),
            await visit.post("/speech", headers={"origin": ALLOWED}),
        ):
            assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("headers", [{}, {"origin": ALLOWED}])
async def test_no_cache_gives_one_page_what_another_one_was_answered(headers: dict[str, str]) -> None:
    async with visitor() as visit:
        assert varies_by(await visit.get("/web/0/onetake.js", headers=headers)) == {"accept-encoding", "origin"}


@pytest.mark.parametrize(
    "origin", [ALLOWED, OTHER, "http://127.0.0.1:9000", "http://[::1]:9000", "https://xn--bcher-kva.example"]
)
def test_an_origin_as_browsers_send_it_is_taken_as_it_is(origin: str) -> None:
    assert checked_origin(origin) == origin


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://chat.example/", "https://chat.example"),
        ("https://chat.example/page?x#y", "https://chat.example"),
        ("https://user@chat.example", "https://chat.example"),
        ("HTTPS://Chat.Example", "https://chat.example"),
        ("https://chat.example:443", "https://chat.example"),
        ("http://localhost:80", "http://localhost"),
    ],
)
def test_an_address_is_refused_with_the_origin_it_has(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"write {meant}$"):
        checked_origin(written)


@pytest.mark.parametrize(
    "written",
    ["*", "null", "", "chat.example", "localhost:5173", "https://*.chat.example", "ftp://chat.example", "https://",
     "https://bücher.example", "https://a b.example", "https://chat.example:port", "https://chat.example:99999", "http://["],
)  # fmt: skip
def test_what_is_no_origin_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(UsageError, match=r"such as https://chat\.example"):
        checked_origin(written)


def origins_served(monkeypatch: pytest.MonkeyPatch, *arguments: str, environment: str | None = None) -> list[str]:
    """The origins that `onetake` with these arguments lets in."""
    served = []
    monkeypatch.setattr(serving, "serve", lambda app, listening: (listening.close(), served.append(app)))
    env = {"ONETAKE_ALLOW_ORIGINS": environment}
    done = CliRunner().invoke(cli.main, ["--no-browser", "--port", "0", *arguments], env=env)
    assert done.exit_code == 0, done.output
    (access,) = (each for each in served[0].user_middleware if each.cls is Access)
    origins: list[str] = access.kwargs["origins"]
    return origins


def test_nobody_is_allowed_unless_somebody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert origins_served(monkeypatch) == []


def test_origins_are_allowed_by_an_option_that_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert origins_served(monkeypatch, "--allow-origin", ALLOWED, "--allow-origin", OTHER) == [ALLOWED, OTHER]


def test_origins_are_allowed_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert origins_served(monkeypatch, environment=f"{ALLOWED}, {OTHER},") == [ALLOWED, OTHER]


def test_origins_are_allowed_where_an_agent_of_ones_own_is_served(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "from pydantic_ai import Agent\nfrom pydantic_ai.models.test import TestModel\nagent = Agent(TestModel())\n"
    (tmp_path / "their_app.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ("serve", "their_app:agent", "--allow-origin", ALLOWED)
    assert origins_served(monkeypatch, *arguments) == [ALLOWED]
    assert origins_served(monkeypatch, "--allow-origin", ALLOWED, *arguments[:2]) == [ALLOWED]


@pytest.mark.parametrize("environment", [None, "https://chat.example/page"])
def test_a_bad_origin_ends_the_command_in_one_line(environment: str | None) -> None:
    arguments = [] if environment else ["--allow-origin", "https://chat.example/page"]
    env = {"ONETAKE_ALLOW_ORIGINS": environment}
    done = CliRunner().invoke(cli.main, ["--no-browser", "--port", "0", *arguments], env=env)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "write https://chat.example" in line
