"""Every figure this project promises, as JSON lines: name, value, unit, limit, ok.

    python -m tests.bench

The cutter is measured on this Python and again inside Pyodide in Chromium. Ends with status 1 if a limit was missed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tests.bench import cutter, playback
from tests.bench.chromium import figures_in_pyodide


def figures() -> Iterator[cutter.Figure]:
    for figure in cutter.run():
        yield {**figure, "name": f"{figure['name']}, on CPython {sys.version_info.major}.{sys.version_info.minor}"}
    for figure in figures_in_pyodide(cutter):
        yield {**figure, "name": f"{figure['name']}, in Chromium"}
    yield from figures_in_pyodide(playback)


def main() -> int:
    missed = 0
    for figure in figures():
        print(json.dumps(figure, ensure_ascii=False), flush=True)
        missed += not figure["ok"]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
