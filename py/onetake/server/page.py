"""What the server hands to the browser: the page's files, and this package as a wheel for the page's Python.

    root = page_root()                  # index.html and web/ are below it
    name, content = page_wheel()        # "onetake-0.1.0-py3-none-any.whl", the same bytes for the same code
    url = f"wheels/{content_hash(content)}/{name}"

The wheel is packed from the code that runs here, so in an editable install an edit is there at the next load
of the page, and page and server always agree. Imported by the server.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from onetake.errors import UsageError

_PACKAGE = Path(__file__).resolve().parents[1]
_WHEEL = b"Wheel-Version: 1.0\nGenerator: onetake\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_HOW = "Run `pip install .`, or `pip install -e .` in the source tree."


def page_root() -> Path:
    """The directory with index.html and web/: in the installed wheel, or the tree of an editable install.

    Raises UsageError where neither is complete.
    """
    source_tree = _PACKAGE.parents[1]
    for root in (_PACKAGE / "server" / "page_files", source_tree):
        if (root / "index.html").is_file() and (root / "web" / "vendor").is_dir():
            return root
    raise UsageError(
        f"The page is not complete: {source_tree} must hold index.html and web/vendor/. {_HOW}"
    )


def page_wheel() -> tuple[str, bytes]:
    """File name and content of the wheel that micropip installs in the page: all of onetake but its server.

    Stored, not compressed, in a fixed order and with fixed times: the same code gives the same bytes on every
    machine, so their hash can be in the URL. Raises UsageError if onetake runs without being installed.
    """
    try:
        installed = distribution("onetake")
    except PackageNotFoundError:
        raise UsageError(f"onetake runs from {_PACKAGE} but is not installed. {_HOW}") from None
    code = tuple((path, path.stat().st_mtime_ns) for path in _page_code())
    return f"onetake-{installed.version}-py3-none-any.whl", _packed(installed.version, _metadata(installed), code)


def content_hash(content: bytes) -> str:
    """A short name for exactly these bytes, for URLs that may be cached for ever."""
    return hashlib.sha256(content).hexdigest()[:16]


@lru_cache(maxsize=1)
def _packed(version: str, metadata: bytes, code: tuple[tuple[Path, int], ...]) -> bytes:
    """The wheel. It is packed again only when a file has changed (an editable install)."""
    info = f"onetake-{version}.dist-info"
    files = {f"onetake/{path.relative_to(_PACKAGE).as_posix()}": path.read_bytes() for path, _ in code}
    files[f"{info}/METADATA"] = metadata
    files[f"{info}/WHEEL"] = _WHEEL
    rows = [f"{name},{_record_hash(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "".join(f"{row}\n" for row in [*rows, f"{info}/RECORD,,"]).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def _page_code() -> Iterator[Path]:
    for path in sorted(_PACKAGE.rglob("*")):
        inside = path.relative_to(_PACKAGE)
        if inside.parts[0] != "server" and "__pycache__" not in inside.parts and path.is_file():
            yield path


def _metadata(installed: Distribution) -> bytes:
    text = installed.read_text("METADATA")
    if text is None:
        raise UsageError(f"The installation of onetake {installed.version} has lost its METADATA. {_HOW}")
    headers, _, _readme = text.partition("\n\n")
    return f"{headers}\n".encode()


def _record_hash(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
