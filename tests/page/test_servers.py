"""Two whole servers on one Redis, each a process of its own: what one writes, the other one goes on with."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.page.visit import PATIENCE_S


class Pair(NamedTuple):
    """Two servers that share their replies."""

    one: Any
    other: Any


@pytest.fixture
def pair(run_server: Any, redis_url: str) -> Iterator[Pair]:
    with run_server("--redis", redis_url) as one, run_server("--redis", redis_url) as other:
        yield Pair(one, other)


def ask(method: str, url: str, body: dict[str, Any] | None = None, after: int | None = None) -> Any:
    """The open answer to one request."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"} if after is None else {"last-event-id": str(after)}
    return urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=PATIENCE_S)


def events(answer: Any, enough: Callable[[str], bool] = lambda name: False) -> list[tuple[int, str, dict[str, Any]]]:
    """The events of an answer to its end, or until one of that name."""
    found, fields = [], {}
    for line in answer:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "id" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
            fields = {}
            if enough(found[-1][1]):
                break
    return found


def begin(server: Any, text: str) -> tuple[str, list[tuple[int, str, dict[str, Any]]]]:
    """Begin a reply and read until there is text; returns its path and the events, and drops the connection."""
    with ask("POST", f"{server.url}replies", {"text": text}) as answer:
        read = events(answer, enough=lambda name: name == "delta")
        return answer.headers["location"].lstrip("/"), read


def test_begun_on_one_resumed_on_the_other_and_stopped_from_there(pair: Pair) -> None:
    reply, first = begin(pair.one, "Tell me a story.")
    with ask("GET", f"{pair.other.url}{reply}/events", after=first[-1][0]) as answer:
        rest = events(answer, enough=lambda name: name == "unit_end")
        assert ask("DELETE", f"{pair.other.url}{reply}").status == 204
        rest += events(answer)
    assert [number for number, _, _ in first + rest] == list(range(1, len(first + rest) + 1))
    assert rest[-1][1] == "stopped"
    with ask("GET", f"{pair.one.url}{reply}/events") as answer:
        assert events(answer) == first + rest


def test_readers_of_a_server_that_is_killed_in_mid_reply_are_told_and_can_have_it_written_anew(pair: Pair) -> None:
    reply, first = begin(pair.one, "Tell me a story.")
    with ask("GET", f"{pair.other.url}{reply}/events", after=first[-1][0]) as answer:
        pair.one.kill()
        number, name, payload = events(answer)[-1]
    assert (name, payload["code"], payload["retryable"]) == ("error", "writer_lost", True)
    assert ask("POST", f"{pair.other.url}{reply}/regenerate").status == 200
    with ask("GET", f"{pair.other.url}{reply}/events", after=number) as answer:
        names = [name for _, name, _ in events(answer)]
    assert names[0] == "reset"
    assert names[-1] == "final"
