"""What the reply routes refuse: each refusal names the value and the rule, in the one shape of all errors."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from onetake.server import errors
from onetake.server.agents import agent_for
from onetake.server.companion import companion
from onetake.server.replies import Replies, Reply
from onetake.server.reply_routes import TEXT_LIMIT, router

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def replies() -> Replies:
    return Replies(agent_for(companion(math.inf)), now=lambda: datetime(2026, 12, 1, 12, 5, tzinfo=UTC))


@pytest.fixture
async def client(replies: Replies) -> AsyncIterator[httpx2.AsyncClient]:
    app = FastAPI()
    errors.install(app)
    app.include_router(router(replies))

    @app.get("/bug")
    def bug() -> None:
        raise ZeroDivisionError("password")

    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


@pytest.fixture
async def reply(replies: Replies) -> Reply:
    """A reply that is written to its end."""
    reply = await replies.start("Hello")
    async for _ in await reply.events(after=0):
        pass
    return reply


def error(response: httpx2.Response) -> dict[str, Any]:
    body = response.json()
    assert list(body) == ["error"]
    details: dict[str, Any] = body["error"]
    assert details["message"]
    return details


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_an_empty_message_is_refused(client: httpx2.AsyncClient, text: str) -> None:
    response = await client.post("/replies", json={"text": text})
    assert (response.status_code, error(response)["code"]) == (422, "empty_text")


async def test_a_message_over_the_limit_is_refused_with_the_limit(client: httpx2.AsyncClient) -> None:
    response = await client.post("/replies", json={"text": "👩" * (TEXT_LIMIT + 1)})
    assert response.status_code == 413
    assert error(response) | {"message": ""} == {
        "code": "text_too_long",
        "message": "",
        "limit": TEXT_LIMIT,
        "unit": "characters",
        "length": TEXT_LIMIT + 1,
    }


async def test_a_message_at_the_limit_is_taken_however_it_is_written(client: httpx2.AsyncClient) -> None:
    text = "\\ud83d\\udc69" * TEXT_LIMIT
    response = await client.post("/replies", content=f'{{"text": "{text}"}}', headers=JSON)
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"", "body"),
        (b"{", "not valid JSON"),
        (b"[]", "body"),
        (b"{}", "text"),
        (b'{"text": 1}', "text"),
        (b'{"text": "Hi", "conversation": "a b"}', "conversation"),
        (b'{"text": "Hi", "spoken": "perhaps"}', "spoken"),
    ],
)
async def test_a_bad_request_is_refused_with_the_field_named(
    client: httpx2.AsyncClient, body: bytes, named: str
) -> None:
    response = await client.post("/replies", content=body, headers=JSON)
    details = error(response)
    assert (response.status_code, details["code"]) == (422, "bad_request")
    assert named in details["message"]


@pytest.mark.parametrize("at", [None, "1", 1.5, True])
async def test_a_position_that_is_no_whole_number_is_refused(
    client: httpx2.AsyncClient, reply: Reply, at: object
) -> None:
    response = await client.put(f"/replies/{reply.id}/heard", json={"at": at})
    assert (response.status_code, error(response)["code"]) == (422, "bad_request")
    assert error(response)["message"].startswith("at: ")


@pytest.mark.parametrize("beyond", [-1, 1])
async def test_a_position_outside_the_reply_is_refused_with_the_length(
    client: httpx2.AsyncClient, reply: Reply, beyond: int
) -> None:
    length = (await reply.record()).length
    at = -1 if beyond < 0 else length + beyond
    response = await client.put(f"/replies/{reply.id}/heard", json={"at": at})
    assert response.status_code == 422
    details = error(response) | {"message": ""}
    assert details == {"code": "bad_position", "message": "", "at": at, "length": length}


async def test_what_was_heard_of_another_generation_is_refused(
    client: httpx2.AsyncClient, reply: Reply
) -> None:
    response = await client.put(f"/replies/{reply.id}/heard", json={"at": 0, "generation": 2})
    assert response.status_code == 409
    assert error(response) | {"message": ""} == {"code": "stale_generation", "message": "", "generation": 1}


@pytest.mark.parametrize("id", ["x", "-1", "1.5", "9999"])
async def test_a_last_event_id_that_was_never_sent_is_refused(
    client: httpx2.AsyncClient, reply: Reply, id: str
) -> None:
    response = await client.get(f"/replies/{reply.id}/events", headers={"Last-Event-ID": id})
    assert response.status_code == 422
    assert "last-event-id" in error(response)["message"].lower()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/events"), ("POST", "/regenerate"), ("DELETE", ""), ("PUT", "/heard")],
)
async def test_an_unknown_reply_is_not_found(client: httpx2.AsyncClient, method: str, path: str) -> None:
    response = await client.request(
        method, f"/replies/nope{path}", json={"at": 0} if method == "PUT" else None
    )
    assert response.status_code == 404
    assert error(response) | {"message": ""} == {"code": "unknown_reply", "message": "", "reply": "nope"}


async def test_unknown_paths_and_methods_answer_in_the_same_shape(client: httpx2.AsyncClient) -> None:
    missing, wrong = await client.get("/nope"), await client.put("/replies")
    assert (missing.status_code, error(missing)["code"]) == (404, "not_found")
    assert (wrong.status_code, error(wrong)["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"


async def test_a_bug_answers_without_its_details(client: httpx2.AsyncClient) -> None:
    response = await client.get("/bug")
    assert (response.status_code, error(response)["code"]) == (500, "internal_error")
    assert "password" not in response.text
