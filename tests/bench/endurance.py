"""What the page holds after many replies."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.chromium import Page, order
from tests.bench.figures import Figure, at_most, known

REPLY = order(("1/0.05s/0ms/40x", 40))
STEPS = (1, 100, 1_000)

# The conversation stays on the page, as text and as nodes, some sixty a reply: a thousand replies take no more than
# what a browser gives a page without a thought.
LIMIT_KB = 100.0
LIMIT_GROWTH = 5.0  # after ten times as many replies, most of it being the page itself


def run(page: Page) -> Iterator[Figure]:
    """Measure everything; a figure is given as soon as it is known."""
    held: list[float] = []
    done = 0
    for replies in STEPS:
        page.call("flow.mjs", "replies", REPLY, replies - done)
        held.append(page.page_bytes())
        yield known(f"the page's memory after {replies} replies", held[-1] / 1e6, "MB")
        yield known(f"Python's own memory after {replies} replies", page.wasm_bytes() / 1e6, "MB")
        more, done = replies - done, replies
    yield at_most("the page's memory for one more reply", (held[-1] - held[-2]) / more / 1e3, "kB", LIMIT_KB)
    name = f"the page's memory after {done} replies against {done - more}"
    yield at_most(name, held[-1] / held[-2], "times", LIMIT_GROWTH)
