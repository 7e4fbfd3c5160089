"""A thousand units and a thousand resets in one page leave nothing behind."""

from __future__ import annotations

from typing import Any

from pytest_pyodide import run_in_pyodide

MANY = 1_000
WARM_UP = 100


@run_in_pyodide
async def enter(selenium_ruler):
    """Open the one voice of the test."""
    import ruler

    ruler.stage = await ruler.Stage().__aenter__()


@run_in_pyodide
async def leave(selenium_ruler):
    import ruler

    await ruler.stage.__aexit__(None, None, None)
    del ruler.stage


@run_in_pyodide
async def many_units(selenium_ruler, count):
    """One reply of so many units, all of the same text; returns what is live once it is spoken, and once it is gone."""
    from ruler import stage

    stage.plan("Yes.", take=1, frames=120)
    stage.voice.begin()
    stage.say(*["Yes."] * count)
    await stage.until("idle")
    units = stage.inspect()["units"]
    await stage.advance(0.2)  # the last position has been told
    live = [stage.live()]
    stage.voice.begin()
    await stage.advance(0.2)
    live.append(stage.live())
    return live, sum(unit["state"] == "done" for unit in units), sum(unit["frames_played"] for unit in units)


@run_in_pyodide
async def many_resets(selenium_ruler, count):
    """So many generations of one unit: silenced before its audio, amid it, while it sounds; returns what is live."""
    from ruler import stage

    stage.plan("Yes.", take=1, frames=48_000, chunk=2_400)
    stage.voice.begin()
    units = stage.voice.reading.conductor.entries
    for number in range(count):
        stage.say("Yes.", final=False)
        if number % 50 == 0:
            await stage.until_playing()
        elif number % 2:
            await stage.until(lambda: units[0].received_s > 0)
        stage.voice.reset()
    stage.voice.stop()
    await stage.advance(0.3)  # the last ramp has ended
    return stage.live(), stage.inspect()["generation"]


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
    enter(selenium_ruler)
    (_, start), _, _ = many_units(selenium_ruler, WARM_UP)
    many_resets(selenium_ruler, WARM_UP)
    before = held(selenium_ruler)

    (kept, end), done, played = many_units(selenium_ruler, MANY)
    assert (done, played) == (MANY, MANY * 120)
    assert kept == start | {"live_buffers": MANY}  # for a replay, until the next reply
    assert end == start
    live, generation = many_resets(selenium_ruler, MANY)
    assert generation == MANY + 1
    assert live == start

    after = held(selenium_ruler)
    assert after["JSHeapUsedSize"] - before["JSHeapUsedSize"] < 5e6
    for kind in ("AudioHandlers", "JSEventListeners", "buffers"):
        assert after[kind] <= before[kind]
    leave(selenium_ruler)
