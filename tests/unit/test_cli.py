"""The command line: what it refuses, in one line and with exit status 2, and what `cut` prints."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onetake.server.cli import main


def call(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


def refusal(result: Result) -> str:
    """What a refused call says: one line, status 2."""
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


def test_a_port_in_use_is_refused_naming_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in refusal(call("--no-browser", "--port", str(port)))


def test_an_unknown_voice_is_refused_listing_those_there_are() -> None:
    said = refusal(call("--no-browser", "--voice", "nobody"))
    assert "'nobody'" in said
    assert "local" in said


def test_an_unknown_model_is_refused_listing_providers() -> None:
    said = refusal(call("--no-browser", "--model", "nobody:knows"))
    assert "nobody" in said
    assert "openai" in said


def test_cut_prints_range_emotion_and_text_of_each_unit(tmp_path: Path) -> None:
    reply = tmp_path / "reply.md"
    reply.write_bytes("하나. 😀둘.\n셋. [emotion:warm]".encode())
    result = call("cut", str(reply), "--ends", "4")
    assert result.output == '0-4\t-\t"하나."\n4-25\twarm\t"😀둘.\\n셋."\n'


def test_cut_reads_standard_input_and_keeps_its_line_ends() -> None:
    result = call("cut", "-", "--json", stdin=b"a\r\nb")
    assert [json.loads(line)["text"] for line in result.output.splitlines()] == ["a\r\nb"]


def test_cut_leaves_the_rest_of_an_unfinished_reply_open() -> None:
    assert call("cut", "-", "--ends", "2", "--no-final", stdin=b"a. b.").output == '0-2\t-\t"a."\n'


@pytest.mark.parametrize("ends", ["12,x", "-1", "1.5", "1,,2"])
def test_cut_refuses_what_is_no_offset(ends: str) -> None:
    assert ends in refusal(call("cut", "-", f"--ends={ends}", stdin=b"a"))


def test_cut_names_a_file_it_cannot_read(tmp_path: Path) -> None:
    assert "missing.md" in refusal(call("cut", str(tmp_path / "missing.md")))


def test_cut_says_where_a_file_is_no_utf_8(tmp_path: Path) -> None:
    reply = tmp_path / "latin.md"
    reply.write_bytes(b"caf\xe9")
    assert "byte 3" in refusal(call("cut", str(reply)))


SAMPLES = Path(__file__).parent / "streams"


def test_cut_reads_a_turn_over_several_recorded_responses() -> None:
    parts = [str(SAMPLES / "openai-chat" / f"01-tool-two-requests.{number}.sse") for number in (1, 2)]
    result = call("cut", *parts, "--protocol", "openai-chat", "--json")
    assert [json.loads(line)["start"] for line in result.output.splitlines()] == [0, 21]
    assert result.exit_code == 0


def test_cut_says_on_standard_error_why_a_recorded_reply_is_not_whole() -> None:
    sample = SAMPLES / "anthropic-messages" / "04-overloaded-midstream.sse"
    result = call("cut", str(sample), "--protocol", "anthropic-messages")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert result.stderr == "overloaded_error: Overloaded\n"


def test_cut_says_when_another_recorded_response_is_missing() -> None:
    first = SAMPLES / "ollama-chat" / "01-tool-two-requests.1.ndjson"
    result = call("cut", str(first), "--protocol", "ollama-chat")
    assert result.stdout.startswith("0-12\t")
    assert "another response" in result.stderr
    assert result.exit_code == 1


def test_cut_says_when_a_recorded_stream_breaks_off() -> None:
    first = SAMPLES / "ai-sdk-ui" / "03-resume-replay.1.sse"
    assert "breaks off" in call("cut", str(first), "--protocol", "ai-sdk-ui").stderr


@pytest.mark.parametrize("arguments", [["--ends", "2"], ["--no-final"]])
def test_cut_refuses_to_be_told_what_a_stream_says_itself(arguments: list[str]) -> None:
    assert "--protocol" in refusal(call("cut", "-", "--protocol", "gemini", *arguments, stdin=b""))


def test_cut_refuses_several_files_of_plain_text() -> None:
    assert "--protocol" in refusal(call("cut", "a.md", "b.md"))
