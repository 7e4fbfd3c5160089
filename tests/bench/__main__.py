"""Every figure this project promises: a JSON line each (name, value, unit, limit, ok), and at the end a Markdown table.

    python -m tests.bench            # all of it
    python -m tests.bench --quick    # in about a minute: what is felt, of short replies

All that concerns the page is measured in headless Chromium against the real server. Ends with status 1 if a limit was
missed. A figure that is a median has `min`, `max` and `runs`; one without a limit is only reported.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from tests.bench import beside, cutter, endurance, flow, playback, replies, speaking, waking
from tests.bench.chromium import open_page
from tests.bench.figures import Figure, known, table


def figures(quick: bool) -> Iterator[Figure]:
    yield known("processors", os.cpu_count() or 0, "cores")
    yield known("load average before", os.getloadavg()[0], "processes")
    with open_page() as page:
        yield known("Chromium", int(page.version.partition(".")[0]), "version")
        yield from speaking.run(page, quick)
        yield from flow.run(page, quick)
        if not quick:
            yield from endurance.run(page)
            yield from page.figures_in_pyodide([beside, playback])
            yield from _named("in Chromium", page.figures_in_pyodide([cutter]))
    if not quick:
        yield from waking.run()
        yield from _named(f"on CPython {sys.version_info.major}.{sys.version_info.minor}", cutter.run())
        yield from replies.run()


def _named(where: str, found: Iterable[Figure]) -> Iterator[Figure]:
    for figure in found:
        yield {**figure, "name": f"{figure['name']}, {where}"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measures what this project promises.")
    parser.add_argument("--quick", action="store_true", help="about a minute: what is felt, of short replies")
    quick = parser.parse_args().quick
    found = []
    for figure in figures(quick):
        print(json.dumps(figure, ensure_ascii=False), flush=True)
        found.append(figure)
    command = f"python -m tests.bench{' --quick' if quick else ''}"
    print(f"\n`{command}`, {datetime.now(UTC):%Y-%m-%d}\n\n{table(found)}")
    return 0 if all(figure["ok"] for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
