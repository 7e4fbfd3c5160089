"""What a browser is sent is what it accepts, and unpacked it is what lies on the disk."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from onetake.server.bodies import chosen, kept_bytes, kept_file

BOTH = ["br", "gzip"]
CODE = b"const text = `one line and another, and another, and another`;\n" * 40


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("GZIP ; Q=0.3", "gzip"),
        ("br;q=0.5, gzip", "gzip"),
        ("br;q=0, gzip;q=0.1", "gzip"),
        ("*", "br"),
        ("br;q=0, *;q=0.1", "gzip"),
        ("identity;q=0.5, br;q=0.5", "br"),
        ("", None),
        ("deflate, zstd", None),
        ("br;q=0, gzip;q=0", None),
        ("identity, gzip;q=0.5", None),
        ("gzip;q=2", None),
        ("gzip;q=some, br;q=", None),
    ],
)
def test_the_encoding_that_weighs_most_is_chosen(accept: str, encoding: str | None) -> None:
    assert chosen(accept, BOTH) == encoding


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A file of ours, and one that was compressed when it was built."""
    (tmp_path / "ours.mjs").write_bytes(CODE)
    for ending in ("", ".br", ".gz"):
        (tmp_path / f"built.wasm{ending}").write_bytes(ending.encode() or CODE)
    return tmp_path


def accepting(encodings: str) -> Headers:
    return Headers({"accept-encoding": encodings})


def test_what_was_compressed_when_it_was_built_is_sent_as_it_lies_there(code: Path) -> None:
    response = kept_file(accepting("gzip, br"), code / "built.wasm")
    assert response.path == code / "built.wasm.br"
    assert response.headers["content-encoding"] == "br"
    assert response.headers["content-type"] == "application/wasm"
    assert response.headers["x-uncompressed-length"] == str(len(CODE))


def test_what_is_ours_is_compressed_when_it_is_asked_for(code: Path) -> None:
    response = kept_file(accepting("gzip, br"), code / "ours.mjs")
    assert gzip.decompress(response.body) == CODE
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert response.headers["content-length"] == str(len(response.body))


def test_an_edited_file_is_sent_as_it_is_now(code: Path) -> None:
    kept_file(accepting("gzip"), code / "ours.mjs")
    (code / "ours.mjs").write_bytes(b"edited")
    assert gzip.decompress(kept_file(accepting("gzip"), code / "ours.mjs").body) == b"edited"


@pytest.mark.parametrize("name", ["ours.mjs", "built.wasm"])
def test_who_accepts_no_encoding_gets_none(code: Path, name: str) -> None:
    response = kept_file(Headers(), code / name)
    assert "content-encoding" not in response.headers
    assert "x-uncompressed-length" not in response.headers


def test_caches_on_the_way_are_told_that_there_are_several_forms(code: Path) -> None:
    for asked in (Headers(), accepting("br")):
        for response in (kept_file(asked, code / "built.wasm"), kept_bytes(asked, CODE, "application/octet-stream")):
            assert response.headers["vary"] == "Accept-Encoding"
            assert "immutable" in response.headers["cache-control"]
