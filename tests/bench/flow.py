"""What the page does with text while it speaks: whether it holds anybody up, how much it can take, and crossings."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tests.bench.chromium import Page, order
from tests.bench.figures import RUNS, Figure, at_most, known, middle

WRITTEN = 150  # characters a second: the most that hosted models write
UNITS = 4
SPOKEN_PER_S = 15  # characters
LENGTHS = (10_000, 100_000)
TAKES_S = (2, 20)
CHAINS = (6, 48)  # takes in a row; pydantic-ai ends a run after 50 responses of the model
SHORT_S = 0.5
REST_S = 1

LIMIT_DROPPED = 0.02  # of all frames, more than the same machine drops at rest just then: one in a second
LIMIT_PER_S = 15_000  # characters: a hundred times as many as are written, so that text costs 1 % of the time
LIMIT_TENFOLD = 15.0  # linear work is 10
LIMIT_CROSSINGS = 4_000  # at 1 to 2 µs each, half a percent of a processor
LIMIT_CROSSINGS_GROWTH = 1.5  # a second of a long take costs what one of a short take does, and so with late units


def run(page: Page, quick: bool) -> Iterator[Figure]:
    """Measure everything; a figure is given as soon as it is known."""
    yield from smoothness(page, 480 if quick else 2_000, WRITTEN)
    if not quick:
        yield from smoothness(page, 20_000, 10 * WRITTEN)
    yield from capacity(page, LENGTHS[:1] if quick else LENGTHS)
    if not quick:
        yield from crossings(page)


def smoothness(page: Page, characters: int, rate: int) -> Iterator[Figure]:
    """Long tasks and frames dropped while a reply is written and spoken, and frames dropped when nothing is."""
    each = characters // UNITS
    units = [(f"{1 + i % 3}/{each / SPOKEN_PER_S:.0f}s/300ms/2x", each) for i in range(UNITS)]
    found = page.call("flow.mjs", "watched", order(*units, rate=rate), 0.5)
    at_rest = page.call("flow.mjs", "watched", None, REST_S)["dropped"]
    what = f"{characters} characters at {rate} a second"
    yield at_most(f"tasks over 50 ms on the main thread, {what}", len(found["tasks"]), "tasks", 0)
    yield known(f"the longest of them, {what}", max(found["tasks"], default=0), "ms")
    yield at_most(f"frames dropped, {what}", found["dropped"], "of all", at_rest + LIMIT_DROPPED)
    yield known("frames dropped while nothing is written or spoken", at_rest, "of all")


def capacity(page: Page, lengths: tuple[int, ...]) -> Iterator[Figure]:
    """How much text goes through cutter and page while it speaks, when it is written as fast as it is read."""
    took = []
    for length in lengths:
        message = order(("1/30s/0ms/40x", 20), ("2/30s/0ms/40x", length))
        runs = [page.call("flow.mjs", "rush", message) for _ in range(RUNS)]
        name = f"characters through cutter and page while speaking, reply of {length}"
        yield middle(name, [each["rate"] for each in runs], "a second", least=LIMIT_PER_S)
        took.append(median(each["took"] for each in runs))
    if len(took) > 1:
        name = f"time for {lengths[1]} characters against {lengths[0]}"
        yield at_most(name, took[1] / took[0], "times", LIMIT_TENFOLD)


def crossings(page: Page) -> Iterator[Figure]:
    """Calls between JavaScript and Python while the page speaks, as boundary.js counts them."""
    takes = [(f"one take of {seconds} s", 1, seconds) for seconds in TAKES_S]
    chains = [(f"{units} takes of {SHORT_S} s", units, SHORT_S) for units in CHAINS]
    for pair in (takes, chains):
        every = []
        for what, units, seconds in pair:
            message = order(*[(f"1/{seconds}s/300ms/10x", round(seconds * SPOKEN_PER_S))] * units, rate=WRITTEN)
            found = page.call("flow.mjs", "crossings", message, units * seconds)
            both = found["intoJs"] + found["intoPython"]
            name = f"calls between JavaScript and Python for a second of audio, {what}"
            yield at_most(name, both, "calls", LIMIT_CROSSINGS)
            yield known(f"of these into Python, {what}", found["intoPython"], "calls")
            every.append(both)
        name = f"calls for a second of audio, {pair[1][0]} against {pair[0][0]}"
        yield at_most(name, every[1] / every[0], "times", LIMIT_CROSSINGS_GROWTH)
