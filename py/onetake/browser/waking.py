"""What `web/runtime.mjs` asks of Python while a page wakes, on the first visit and on those after it.

    prepare()       # the package has just been unpacked: a snapshot taken now holds all of it
    renew()         # this memory comes from a snapshot
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path


def prepare() -> None:
    """Import all of `onetake.browser`, and with it what it needs."""
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        import_module(f"onetake.browser.{file.stem}")


def renew() -> None:
    """Make what must differ from visit to visit differ.

    Raises FileNotFoundError without the standard library, which nothing in memory has needed so far.
    """
    random.seed()
    for path in sys.path:
        if path.endswith(".zip"):
            Path(path).stat()
