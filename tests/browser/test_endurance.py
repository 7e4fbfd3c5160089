"""A thousand units and a thousand resets in one page leave nothing behind."""

from __future__ import annotations

from typing import Any

from pytest_pyodide import run_in_pyodide

MANY = 1_000
WARM_UP = 100


@run_in_pyodide
async def many_units(selenium_ruler, count):
    """One reply of so many units, all of the same text; returns what is live before, right after, and at last."""
    from ruler import Stage

    async with Stage() as stage:
        stage.plan("Yes.", take=1, frames=120)
        live = [stage.live()]
        stage.say(*["Yes."] * count)
        await stage.until("idle")
        units = stage.inspect()["units"]
        await stage.advance(0.2)  # the last position has been told
        live.append(stage.live())
        stage.voice.begin()
        await stage.advance(0.2)
        live.append(stage.live())
    return live, sum(unit["state"] == "done" for unit in units), sum(unit["frames_played"] for unit in units)


@run_in_pyodide
async def many_resets(selenium_ruler, count):
    """So many generations of one unit: one before it is asked for, one amid its audio, one while it sounds, …"""
    from ruler import Stage

    async with Stage() as stage:
        stage.plan("Yes.", take=1, frames=9_600, chunk=2_400)
        units = stage.voice.reading.conductor.entries
        live = [stage.live()]
        for number in range(count):
            stage.say("Yes.", final=False)
            if number % 50 == 0:
                await stage.until_playing()
            elif number % 2:
                await stage.until(lambda: units[0].received_s > 0)
            stage.voice.reset()
        stage.voice.stop()
        await stage.advance(0.3)  # the last ramp has ended
        live.append(stage.live())
        generation = stage.inspect()["generation"]
    return live, generation


def held(selenium: Any) -> dict[str, float]:
    """What the browser holds once it has collected its garbage: bytes of JS heap, nodes, listeners, AudioBuffers."""
    selenium.run_js("pyodide.runPython('import gc; gc.collect()'); ruler.clear();")
    driver = selenium.driver
    driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    driver.execute_cdp_cmd("Performance.enable", {})
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    found = {metric["name"]: metric["value"] for metric in metrics}
    found["buffers"] = selenium.run_js("return ruler.made.filter((buffer) => buffer.deref()).length")
    return {name: found[name] for name in ("JSHeapUsedSize", "AudioHandlers", "JSEventListeners", "buffers")}


def test_a_thousand_units_and_a_thousand_resets_leave_nothing_behind(selenium_ruler):
    many_units(selenium_ruler, WARM_UP)
    many_resets(selenium_ruler, WARM_UP)
    before = held(selenium_ruler)

    (start, kept, end), done, played = many_units(selenium_ruler, MANY)
    assert (done, played) == (MANY, MANY * 120)
    assert kept == start | {"live_buffers": MANY}  # for a replay, until the next reply
    assert end == start

    (start, end), generation = many_resets(selenium_ruler, MANY)
    assert generation == MANY + 1
    assert end == start

    after = held(selenium_ruler)
    assert after["JSHeapUsedSize"] - before["JSHeapUsedSize"] < 5e6
    for kind in ("AudioHandlers", "JSEventListeners", "buffers"):
        assert after[kind] <= before[kind]
