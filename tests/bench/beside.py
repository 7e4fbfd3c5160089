"""The cutter beside plain JavaScript that follows the same rules (plain.mjs), in one page. Runs inside Pyodide.

Both stream the same replies and must give the same units. JavaScript is compiled, Python interpreted: what matters is
that neither is felt, so the limit is on the time, and the ratio is told.
"""

from __future__ import annotations

import json
import time
from itertools import zip_longest
from typing import Any

from onetake import Cutter
from tests.bench.figures import RUNS, Figure, middle

PARAGRAPH = (
    "It is [softly] fine, 잠깐만요. 👩‍👩‍👧 Rest.\n\n"
    "```card\n|a|\n```\n"
    "One more line that goes on for a while. [emotion:warm]\n"
    "````card\r\n```\r\n````\r\n~~~\n```card\n~~~\n   ```card\nx [emotion:Joy"
)
DELTA = 20  # code points
EVERY = 100  # code points between two ends of a unit
LENGTH = 100_000

LIMIT_MS = 10.0  # for the 2,000 characters of a long reply, which take 13 s to write


async def run() -> list[Figure]:
    """Measure both in turn."""
    from pyodide.code import run_js

    plain: Any = await run_js("import('/bench/files/plain.mjs')")
    text = (PARAGRAPH * (LENGTH // len(PARAGRAPH) + 1))[:LENGTH]
    for theirs, ours in zip_longest(json.loads(plain.cut(text, DELTA, EVERY).units), cut(text)):
        if theirs != ours:
            raise AssertionError(f"plain JavaScript cuts {theirs}, the cutter {ours}")
    ours_ms, ratios = [], []
    for _ in range(RUNS):
        started_s = time.perf_counter()
        cut(text)
        ours_ms.append((time.perf_counter() - started_s) * 1000)
        ratios.append(ours_ms[-1] / plain.cut(text, DELTA, EVERY).ms)
    name = "cutter, 2,000 characters of a long reply, in Chromium"
    return [
        middle(name, [ms * 2_000 / LENGTH for ms in ours_ms], "ms", most=LIMIT_MS),
        middle("cutter against plain JavaScript of the same rules, paired", ratios, "times"),
    ]


def cut(text: str) -> list[list[Any]]:
    """The units of a reply that is `text`, streamed, with an end every so many code points."""
    cutter = Cutter()
    units: list[list[Any]] = []
    end = EVERY
    for start in range(0, len(text), DELTA):
        cutter.feed(text[start : start + DELTA])
        while end <= cutter.length:
            cutter.end_unit(end)
            end += EVERY
        units += [[unit.start, unit.end, unit.text, unit.emotion] for unit in cutter.take()]
    cutter.finish()
    return units + [[unit.start, unit.end, unit.text, unit.emotion] for unit in cutter.take()]
