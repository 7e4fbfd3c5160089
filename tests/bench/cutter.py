"""The speed of the text core. Pure Python: runs on CPython and inside Pyodide.

Limits in seconds are those for Chromium. Ratios compare 8n with n on text made to be hard, where linear work gives
8 and quadratic work 64.
"""

from __future__ import annotations

import math
import time
import timeit
from collections.abc import Callable, Iterator
from functools import partial

from onetake import Cutter, for_engine, speakable
from tests.bench.figures import RUNS, Figure, at_most

DELTA = 20  # code points per delta: what a fast model sends at a time
UNIT_ENDS = 1_000
LIMIT_S = 1.0
LIMIT_TENFOLD = 12.0
LIMIT_EIGHTFOLD = 16.0
HOSTILE_LENGTH = 125_000
RUN_S = 0.02

_PARAGRAPH = (
    "It is [softly] fine, 잠깐만요. 👩‍👩‍👧 Rest.\n\n"
    "```card\n|a|\n```\n"
    "One more line that goes on for a while. [emotion:warm]\n"
)

# What fills the first half of a text, and what the second.
HOSTILE = {
    "open fences": ("```\n", "```\n"),
    "cards": ("```card\n```\n", "```card\n```\n"),
    "cards left open": ("````card\n```\n", "```\n"),
    "longer and longer fences": ("".join("`" * length + "\n" for length in range(3, 400)), "~~~\n"),
    "fences that are code": ("```a`\n", "   ```card`\n"),
    "backticks": ("`", "`"),
    "tildes": ("~", "~\n"),
    "brackets in brackets": ("[a", "]"),
    "brackets beside brackets": ("[a][", "a]"),
    "link definitions": ("[a]:\n", "[a][a]"),
    "audio tags": ("[softly] ", "[softly]"),
    "emotion tags": ("[emotion:joy] ", "[emotion:joy]" + "\n" * 999),
    "cut emotion tags": ("[emotion:", "[emotion:a b "),
    "white space around text": (" \t\n", "a" + " " * 999),
    "text before white space": ("a", " "),
    "carriage returns": ("\r", "\r\n"),
    "one line": ("a", "a"),
}


def run() -> Iterator[Figure]:
    """Measure everything; a figure is given as soon as it is known."""
    small_s, large_s = _best_s(lambda: cut_reply(100_000), lambda: cut_reply(1_000_000))
    yield at_most("cutter, 1,000,000 characters", large_s, "s", LIMIT_S)
    yield at_most("cutter, 1,000,000 against 100,000 characters", large_s / small_s, "times", LIMIT_TENFOLD)
    for name, halves in HOSTILE.items():
        once, eightfold = (hostile(halves, HOSTILE_LENGTH * times) for times in (1, 8))
        for call in (speakable, engine_text):
            once_s, eightfold_s = _best_s(partial(call, once), partial(call, eightfold))
            name_of = f"{call.__name__}, {name}, 8n against n"
            yield at_most(name_of, eightfold_s / once_s, "times", LIMIT_EIGHTFOLD)


def hostile(halves: tuple[str, str], length: int) -> str:
    """A text of `length` code points, of repeats of the first piece and then of the second."""
    return "".join((piece * (length // 2 // len(piece) + 1))[: length // 2] for piece in halves)


def cut_reply(length: int) -> int:
    """Stream a reply of `length` code points as the page gets it; the number of its units."""
    text = (_PARAGRAPH * (length // len(_PARAGRAPH) + 1))[:length]
    every = length // UNIT_ENDS
    cutter = Cutter()
    units = 0
    next_end = every
    for start in range(0, length, DELTA):
        cutter.feed(text[start : start + DELTA])
        while next_end <= cutter.length:
            cutter.end_unit(next_end)
            next_end += every
        for unit in cutter.take():
            units += len(cutter.slice(unit.start, unit.end)) > 0
    cutter.finish()
    units += len(cutter.take())
    return units


def engine_text(unit: str) -> str:
    """What an engine is sent that would read audio tags aloud."""
    return for_engine(unit, audio_tags=False).text


def _best_s(*calls: Callable[[], object]) -> list[float]:
    """Seconds of processor time of each call, the best of some runs: the others were disturbed.

    The calls take turns, so that a busy machine is busy for all, and are repeated until a coarse clock can tell.
    """
    timers = [timeit.Timer(call, timer=time.process_time) for call in calls]
    numbers = [math.ceil(RUN_S / max(timer.timeit(1), 1e-6)) for timer in timers]
    runs = [
        [timer.timeit(number) / number for timer, number in zip(timers, numbers, strict=True)]
        for _ in range(RUNS)
    ]
    return [min(times) for times in zip(*runs, strict=True)]
