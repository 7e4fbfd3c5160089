"""`onetake voices`, `onetake say`, `--env-file`, and what is told at the start about voices that cannot serve."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soxr
from click.testing import CliRunner, Result
from pocketsphinx import Decoder

from onetake.errors import UsageError
from onetake.server import loudspeaker
from onetake.server.cli import main
from onetake.server.speech import open_engines
from tests.speech_servers import Answer, Request, SpeechServer, refusal, timed_line

SOUND = b"\1\2" * 12_000


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of what this machine is set up with; what a test sets is gone after it."""
    for name in list(os.environ):
        if name.startswith(("ELEVENLABS_", "ONETAKE_")):
            monkeypatch.delenv(name)
    before = dict(os.environ)
    monkeypatch.setattr(os, "environ", before)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def refused(result: Result) -> str:
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


@contextmanager
def serving(reply: Callable[[Request], Answer]) -> Iterator[SpeechServer]:
    """The server on a loop and thread of its own: a command has a loop of its own, too."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = SpeechServer(reply)
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(20)
        yield server
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


# -- who can speak -------------------------------------------------------------------------------------------


def test_without_any_key_the_local_voice_serves_and_each_other_has_one_line() -> None:
    first, *others = call("voices").output.splitlines()
    assert first.startswith("local\tLocal (hibari and espeak-ng), at most 20000 characters a take, no audio tags")
    assert others == [
        "- ElevenLabs does not serve: there is no key; set ELEVENLABS_API_KEY.",
        "- A server with /v1/audio/speech does not serve: there is no address; set ONETAKE_SPEECH_URL.",
    ]


def test_what_is_configured_comes_first(tmp_path: Path) -> None:
    keys = tmp_path / "keys.env"
    lines = (
        "# voices",
        "ELEVENLABS_API_KEY='sk-eleven'",
        "ELEVENLABS_VOICE=one, two",
        "export ONETAKE_SPEECH_URL=http://127.0.0.1:1",
    )
    keys.write_text("\n".join(lines), encoding="utf-8")
    listed = call("voices", "--env-file", str(keys)).output
    assert [line.split("\t")[0] for line in listed.splitlines()] == [
        "elevenlabs:one",
        "elevenlabs:two",
        "openai:alloy",
        "local",
    ]
    assert "performs audio tags, timing per char, 24000 Hz, 2 at once" in listed
    assert "sk-eleven" not in listed


def test_the_env_file_may_come_before_the_command_and_what_is_set_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.env"
    keys.write_text("ELEVENLABS_API_KEY=sk-eleven\nELEVENLABS_MODEL=eleven_v3\n", encoding="utf-8")
    monkeypatch.setenv("ELEVENLABS_MODEL", "eleven_flash_v2_5")
    assert "(eleven_flash_v2_5)" in call("--env-file", str(keys), "voices").output.splitlines()[0]


@pytest.mark.parametrize(
    ("content", "why"), [(None, "cannot be read: No such file"), (b"\xff\xfeA", "is not UTF-8")]
)
def test_an_env_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "keys.env"
    if content is not None:
        file.write_bytes(content)
    said = refused(call("voices", "--env-file", str(file)))
    assert "keys.env" in said
    assert why in said


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"ELEVENLABS_VOICE": "whoever"}, "ELEVENLABS_VOICE is set, but there is no key; set ELEVENLABS_API_KEY."),
        ({"ONETAKE_SPEECH_KEY": "whoever"}, "ONETAKE_SPEECH_KEY is set, but no address is; set ONETAKE_SPEECH_URL."),
    ],
)
def test_what_was_meant_to_serve_and_cannot_is_a_warning_and_the_next_serves(
    environ: dict[str, str], line: str
) -> None:
    engines, absences = open_engines(environ)
    (warning,) = [absence.line for absence in absences if absence.wanted]
    assert line in warning
    assert "whoever" not in warning
    assert [engine.voices[0].id for engine in engines] == ["local"]


@pytest.mark.parametrize("package", ["hibari", "espeakng_loader"])
def test_a_package_that_is_missing_is_a_warning_and_the_other_serves(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"hibari": True, "espeakng_loader": True, package: False}
    monkeypatch.setattr("onetake.server.speech.find_spec", lambda name: found[name] or None)
    engines, absences = open_engines({})
    (warning,) = [absence.line for absence in absences if absence.wanted]
    assert warning.endswith("pip install 'onetake[local]' brings it.")
    assert [engine.voices[0].id for engine in engines] == ["local"]


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"ONETAKE_SPEECH_URL": "localhost:8880"}, "ONETAKE_SPEECH_URL is no web address"),
        ({"ELEVENLABS_API_KEY": "k", "ELEVENLABS_URL": "ftp://x"}, "ELEVENLABS_URL is no web address"),
        ({"ONETAKE_SPEECH_URL": "http://me:secret@x"}, "a key has a variable of its own"),
        ({"ONETAKE_SPEECH_URL": "http://x/?key=secret"}, "a key has a variable of its own"),
        ({"ONETAKE_SPEECH_URL": "http://x", "ONETAKE_SPEECH_LIMIT": "many"}, "ONETAKE_SPEECH_LIMIT is 'many'"),
        ({"ONETAKE_SPEECH_URL": "http://x", "ONETAKE_SPEECH_RATE": "7"}, "from 8000 to 96000"),
        ({"ELEVENLABS_API_KEY": "secret\n"}, "ELEVENLABS_API_KEY holds a character that no key has"),
        ({"ONETAKE_SPEECH_URL": "http://x", "ONETAKE_SPEECH_KEY": "secreté"}, "ONETAKE_SPEECH_KEY holds"),
    ],
)
def test_a_value_that_cannot_be_is_refused_without_repeating_a_secret(environ: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_engines(environ)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


# -- saying --------------------------------------------------------------------------------------------------


def heard_in(file: Path) -> list[str]:
    with wave.open(str(file)) as wav:
        sound = np.frombuffer(wav.readframes(wav.getnframes()), "<i2")
        rate = wav.getframerate()
    decoder = Decoder(samprate=16_000, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(soxr.resample(sound, rate, 16_000).tobytes(), full_utt=True)
    decoder.end_utt()
    words: list[str] = decoder.hyp().hypstr.split()
    return words


def test_say_writes_the_words_to_a_wav_file_in_a_process_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "onetake.server.cli", "say", "We have two meetings today. [emotion:joy]"]
    done = subprocess.run([*command, "-o", "x.wav"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert heard_in(tmp_path / "x.wav") == ["we", "have", "two", "meetings", "today"]


@pytest.mark.parametrize(
    ("environ", "voice", "sent"),
    [
        ("ELEVENLABS_URL", "elevenlabs:v1", "[softly] Hello."),
        ("ONETAKE_SPEECH_URL", "openai:alloy", "Hello."),
    ],
)
def test_say_sends_a_voice_its_text_with_the_tags_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: str, voice: str, sent: str
) -> None:
    part = timed_line(SOUND) if voice.startswith("elevenlabs") else SOUND
    with serving(lambda _: Answer(200, "audio/pcm", [part])) as server:
        monkeypatch.setenv("ELEVENLABS_API_KEY", "sk-eleven")
        monkeypatch.setenv("ELEVENLABS_VOICE", "v1")
        monkeypatch.setenv(environ, server.url)
        result = call("say", "[softly] Hello.", "--voice", voice, "-o", str(tmp_path / "x.wav"))
        assert result.output == ""
        (request,) = server.requests
    assert request.body.get("text", request.body.get("input")) == sent
    with wave.open(str(tmp_path / "x.wav")) as wav:
        assert (wav.getframerate(), wav.getnchannels(), wav.readframes(99_999)) == (24_000, 1, SOUND)


def test_say_tells_why_a_service_refuses_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = refusal(401, {"detail": {"status": "invalid_api_key", "message": "No such key: sk-eleven"}})
    with serving(lambda _: denied) as server:
        monkeypatch.setenv("ELEVENLABS_API_KEY", "sk-eleven")
        monkeypatch.setenv("ELEVENLABS_URL", server.url)
        result = call("say", "Hello.", "-o", str(tmp_path / "x.wav"))
    assert refused(result) == "Error: ElevenLabs: No such key: …"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["👍", "[emotion:joy]", " "])
def test_say_refuses_a_text_with_nothing_to_say(text: str, tmp_path: Path) -> None:
    assert "nothing in this text" in refused(call("say", text, "-o", str(tmp_path / "x.wav")))


def test_say_names_the_limit_that_a_text_exceeds(tmp_path: Path) -> None:
    said = refused(call("say", "long " * 5_000, "-o", str(tmp_path / "x.wav")))
    assert "24999 characters" in said
    assert "20000" in said


def test_say_names_the_voices_there_are() -> None:
    assert "'nobody'; there is: local" in refused(call("say", "Hello.", "--voice", "nobody", "-o", "x.wav"))


def test_say_names_a_file_it_cannot_write(tmp_path: Path) -> None:
    assert "missing" in refused(call("say", "Hello.", "-o", str(tmp_path / "missing" / "x.wav")))


def fake_player(directory: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}/bin{os.pathsep}/usr/bin")
    monkeypatch.setattr(loudspeaker, "_PLAYERS", ((name, "-q"),))


def test_say_plays_the_take_by_what_the_system_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_player(tmp_path, monkeypatch, "aplay", f'cp "$2" {tmp_path}/played.wav')
    assert call("say", "We have two meetings today.").output == ""
    assert heard_in(tmp_path / "played.wav") == ["we", "have", "two", "meetings", "today"]


def test_say_passes_on_why_a_player_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_player(tmp_path, monkeypatch, "aplay", "echo no sound card >&2; exit 1")
    said = refused(call("say", "Hello."))
    assert said == "Error: aplay cannot play the take: no sound card; write a file with -o FILE instead"


def test_say_without_a_player_suggests_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "-o FILE" in refused(call("say", "Hello."))
