"""How soon the page is heard and how soon it is silent, beside other players of the same takes (players.mjs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tests.bench.chromium import Page, order
from tests.bench.figures import RUNS, Figure, at_most, known, middle

OTHERS = {
    "element": "whole blob, audio element",
    "wavtools": "wavtools",
    "elevenlabs": "@elevenlabs/client",
}
NAMES = {"onetake": "Onetake", **OTHERS}

FIRST_BYTE_MS = 300
WRITTEN = 150  # characters a second
SPOKEN_PER_S = 15  # characters
LENGTHS_S = (2, 20, 60)
SPOKEN_S = 0.2  # before the stop
CHAINS = (6, 48)  # takes in a row; pydantic-ai ends a run after 50 responses of the model
CHAIN_S = 0.2  # each
RATE = 24_000

# The 60 ms that a take may need from its first byte (playback.py), and 30 ms for the way there and back through the
# page and our server. What the device adds is the same for all players and not ours to save.
LIMIT_SOUND_MS = 90
# Others play their first block at once. We wait 40 ms so that a busy browser does not shift one block over the next
# (player.py, CUSHION_S), and 20 ms for enough audio; the rest is our server.
LIMIT_LATER_MS = 80
# One render quantum of 128 frames and a ramp of 10 ms, as design 5 has it: shorter clicks, longer is heard.
LIMIT_SILENT_MS = 15.4
LIMIT_GROWTH = 1.5  # what grows with the length of the unit grows by 10; the rest is the machine's unrest


def run(page: Page, quick: bool) -> Iterator[Figure]:
    """Measure everything; a figure is given as soon as it is known."""
    yield from first_sound(page, quick)
    if not quick:
        yield from silence(page)
    yield from seams(page, CHAINS[:1] if quick else CHAINS)


def first_sound(page: Page, quick: bool) -> Iterator[Figure]:
    """From the unit's end, and from the first text, to the first sound."""
    of_length: dict[int, list[float]] = {}
    for seconds in LENGTHS_S[: 1 if quick else None]:
        message = order((f"1/{seconds}s/{FIRST_BYTE_MS}ms/2x", seconds * SPOKEN_PER_S), rate=WRITTEN)
        streaming = [name for name in NAMES if name != "element"]
        # A blob of a long take is waited for most of the time: those runs overlap.
        found = page.call("players.mjs", "compare", streaming, message, SPOKEN_S, RUNS)
        found["element"] = page.call("players.mjs", "overlapping", "element", message, SPOKEN_S, RUNS)
        device_ms = found["onetake"][0]["device"]
        for name, label in NAMES.items():
            closed = [one["closed"] - FIRST_BYTE_MS for one in found[name]]
            limit = LIMIT_SOUND_MS + device_ms if name == "onetake" else None
            what = f"unit of {seconds} s closed → first sound, less the engine's first byte"
            yield middle(f"{what}, {label}", closed, "ms", most=limit)
            token = [one["token"] for one in found[name]]
            yield middle(f"first token → first sound, unit of {seconds} s, {label}", token, "ms")
        of_length[seconds] = [one["closed"] - FIRST_BYTE_MS for one in found["onetake"]]
        later = [_later(found, i) for i in range(RUNS)]
        name = f"first sound, unit of {seconds} s, later than the soonest other player, paired"
        yield middle(name, later, "ms", most=LIMIT_LATER_MS)
        yield known("of each first sound, the device's own latency", device_ms, "ms")
        if seconds == LENGTHS_S[0]:
            yield from _stops(found, f"{SPOKEN_S} s into a take of {seconds} s that still comes in")
    if not quick:
        ratio = median(of_length[20]) / median(of_length[2])
        yield at_most("first sound, unit of 20 s against 2 s", ratio, "times", LIMIT_GROWTH)


def _later(found: dict[str, Any], i: int) -> float:
    soonest = min(found[name][i]["closed"] for name in OTHERS)
    return float(found["onetake"][i]["closed"] - soonest)


def silence(page: Page) -> Iterator[Figure]:
    """From the stop to the last sound, when much has been sent ahead: a take, ten times as much of it, ten units."""
    for seconds in (3, 30):
        message = order((f"1/{seconds}s/0ms/40x", seconds * SPOKEN_PER_S))
        found = page.call("players.mjs", "compare", list(NAMES), message, 1.0, RUNS)
        yield from _stops(found, f"1 s into a take of {seconds} s that is there")
    message = order(*[("1/3s/0ms/40x", 3 * SPOKEN_PER_S)] * 10)
    found = page.call("players.mjs", "compare", ["onetake"], message, 1.0, RUNS)
    yield from _stops(found, "1 s into the first of 10 units")


def _stops(found: dict[str, Any], when: str) -> Iterator[Figure]:
    for name, label in NAMES.items():
        if name not in found:
            continue
        limit = LIMIT_SILENT_MS if name == "onetake" else None
        last = [one["rest"]["last"] for one in found[name]]
        yield middle(f"stop → last audible sample, {when}, {label}", last, "ms", most=limit)
        heard = [one["rest"]["heard"] for one in found[name]]
        yield middle(f"heard after stop, as time at full loudness, {when}, {label}", heard, "ms", most=limit)


def seams(page: Page, chains: Sequence[int]) -> Iterator[Figure]:
    """Silence between takes that are ready."""
    for count in chains:
        takes = [f"{1 + i % 3}/{CHAIN_S}s/0ms/40x" for i in range(count)]
        what = f"silence at a seam between ready takes, {count} in a row"
        ours = page.call("players.mjs", "spoken", order(*((take, 0) for take in takes)), count, CHAIN_S)
        yield middle(f"{what}, Onetake", ours["gaps"], "ms", most=0)
        lost = round(count * CHAIN_S * RATE) - ours["frames"]
        yield at_most(f"samples lost or heard twice, {count} takes in a row, Onetake", abs(lost), "samples", 0)
        if count == chains[0]:
            for how, label in (("elements", "audio elements"), ("buffers", "buffer sources")):
                gaps = page.call("players.mjs", "chained", how, takes, CHAIN_S)["gaps"]
                yield middle(f"{what}, {label} chained on `ended`", gaps, "ms")
