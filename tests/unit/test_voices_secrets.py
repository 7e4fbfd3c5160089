"""Keys stay on the server: whatever goes wrong, no answer, no log line and no error holds one."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from onetake.server.agents import build_agent
from onetake.server.app import create_app
from onetake.server.cli import main
from onetake.server.speech import open_engines
from tests.speech_servers import Answer, Request, SpeechServer, refusal, timed_line

pytestmark = pytest.mark.anyio

CANARY = "sk-canary-5f1d"
TELLING = f"Incorrect API key provided: {CANARY}. You sent 'xi-api-key: {CANARY}'."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def environ(url: str) -> dict[str, str]:
    return {
        "ELEVENLABS_API_KEY": CANARY,
        "ELEVENLABS_URL": url,
        "ONETAKE_SPEECH_URL": url,
        "ONETAKE_SPEECH_KEY": CANARY,
    }


ANSWERS = {
    "refused": refusal(401, {"detail": {"status": "invalid_api_key", "message": TELLING}}),
    "refused in plain words": Answer(400, "text/plain", [TELLING.encode()]),
    "broken": refusal(500, {"error": {"message": TELLING, "code": CANARY}}, retry_after="0"),
    "an error under 200": Answer(200, "application/json", [json.dumps({"detail": TELLING}).encode()]),
    "no take": Answer(200, "audio/pcm", [f"{CANARY}\n".encode(), b'"' + TELLING.encode()]),
    "cut": Answer(200, "audio/pcm", [timed_line(b"\1\2" * 4_000)], cut=True),
    "moved": Answer(302, None, [], {"location": "http://127.0.0.1:9/"}),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
async def test_no_answer_and_no_log_line_holds_a_key(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []

    def reply(request: Request) -> Answer:
        assert CANARY in str(request.headers)
        return answer

    async with SpeechServer(reply) as service:
        engines, _ = open_engines(environ(service.url))
        app = create_app(build_agent(None), engines, model="scripted", voice=None, hosts=["onetake"])
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://onetake") as client:
            responses = [await client.get(path) for path in ("/voices", "/health", "/", "/web/boot.mjs", "/nothing")]
            orders: list[dict[str, Any]] = [
                {"text": "Hello.", "voice": engines[0].voices[0].id},
                {"text": "Hello.", "voice": engines[1].voices[0].id},
                {"text": "x" * 9_000},
                {"text": 1},
            ]
            responses += [await client.post("/speech", json=order) for order in orders]
            seen += [f"{response.headers} {response.text}" for response in responses]
        for engine in engines:
            await engine.aclose()
        assert service.requests
    seen += [record.getMessage() for record in caplog.records]
    seen += [str(vars(record)) for record in caplog.records if record.name.startswith("onetake")]
    assert [text for text in seen if CANARY in text] == []


async def test_no_engine_shows_its_key_when_it_is_printed() -> None:
    engines, _ = open_engines(environ("http://127.0.0.1:1"))
    assert CANARY not in repr(engines) + repr([engine.voices for engine in engines])


@pytest.mark.parametrize(
    "command", [["voices"], ["say", "Hello.", "-o", "x.wav"], ["--voice", "nobody", "--no-browser"]]
)
def test_no_command_prints_a_key(command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in environ("http://127.0.0.1:1").items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(main, command)
    assert CANARY not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
