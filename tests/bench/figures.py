"""The shape of a figure, and how figures are made of what was measured. Pure: also used inside Pyodide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NotRequired, TypedDict

RUNS = 5  # at least so many are behind every median


class Figure(TypedDict):
    """One line of the output. `limit` is None for what is only reported; `min`, `max` and `runs` are of a median."""

    name: str
    value: float
    unit: str
    limit: float | None
    ok: bool
    min: NotRequired[float]
    max: NotRequired[float]
    runs: NotRequired[int]


def at_most(name: str, value: float, unit: str, limit: float) -> Figure:
    """A figure that must not be more than `limit`."""
    return {"name": name, "value": rounded(value), "unit": unit, "limit": rounded(limit), "ok": value <= limit}


def known(name: str, value: float, unit: str) -> Figure:
    """A figure without a limit: other players' ones, and what explains the others."""
    return {"name": name, "value": rounded(value), "unit": unit, "limit": None, "ok": True}


def middle(
    name: str, values: Sequence[float], unit: str, *, most: float | None = None, least: float | None = None
) -> Figure:
    """The median of several runs, which must not be more than `most`, or less than `least`; and its spread."""
    value = median(values)
    limit = least if most is None else most
    return {
        "name": name,
        "value": rounded(value),
        "unit": unit,
        "limit": None if limit is None else rounded(limit),
        "ok": (most is None or value <= most) and (least is None or value >= least),
        "min": rounded(min(values)),
        "max": rounded(max(values)),
        "runs": len(values),
    }


def rounded(value: float) -> float:
    """To what a reader can use: three significant digits, all those before the point."""
    return round(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3)


def table(figures: Iterable[Figure]) -> str:
    """Markdown, a row for each figure."""
    rows = ["| figure | value | min – max | limit | |", "| --- | ---: | ---: | ---: | --- |"]
    for figure in figures:
        spread = f"{figure['min']:g} – {figure['max']:g}" if "min" in figure and "max" in figure else ""
        limit = "" if figure["limit"] is None else f"{figure['limit']:g}"
        verdict = "" if figure["limit"] is None else "ok" if figure["ok"] else "**missed**"
        value = f"{figure['value']:g} {figure['unit']}"
        rows.append(f"| {figure['name']} | {value} | {spread} | {limit} | {verdict} |")
    return "\n".join(rows)
