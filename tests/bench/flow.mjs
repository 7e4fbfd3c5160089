// What the page does with text and sound, and what that costs it. The ears' recordings (listening.js) are thrown away.

const FRAME = 1000 / 60;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function send(message) {
  document.getElementById("text").value = message;
  document.getElementById("write").requestSubmit();
}

/** Resolves to what `inspect()` returns once `condition` holds of it. */
async function until(condition) {
  for (;;) {
    const seen = window.onetake.inspect();
    if (condition(seen)) return seen;
    await pause(20);
  }
}

/**
 * While the reply is written, if there is a message, and for so many seconds more: long tasks, in ms, and what part of
 * all frames was dropped.
 */
export async function watched(message, seconds) {
  const tasks = [];
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration)));
  observer.observe({ type: "longtask" });
  const frames = [];
  let watching = true;
  requestAnimationFrame(function look(at) {
    frames.push(at);
    if (watching) requestAnimationFrame(look);
  });
  if (message) {
    send(message);
    await until((seen) => seen.final);
  }
  await pause(seconds * 1000);
  watching = false;
  observer.disconnect();
  document.getElementById("stop").click();
  (await listening.page()).clear();
  const dropped = frames.slice(1).reduce((all, at, i) => all + Math.max(0, Math.round((at - frames[i]) / FRAME) - 1), 0);
  return { tasks, dropped: dropped / (dropped + frames.length) };
}

/** Characters a second that go through the page, a reply of two units whose second is written as fast as it is read. */
export async function rush(message) {
  const marks = { first: null };
  listening.noteInto(marks);
  send(message);
  const seen = await until((seen) => seen.final);
  const took = performance.now() - marks.first;
  document.getElementById("stop").click();
  (await listening.page()).clear();
  return { rate: (seen.length / took) * 1000, took };
}

/** Lets the page speak so many replies to their ends. */
export async function replies(message, count) {
  for (let i = 0; i < count; i++) {
    const sent = performance.now();
    send(message);
    await until((seen) => seen.state === "idle" && seen.final && seen.units[0]?.times.closed > sent);
    (await listening.page()).clear();
  }
}

/** Calls between JavaScript and Python from the message on until so many seconds of speech have sounded, by second. */
export async function crossings(message, seconds) {
  const ear = await listening.page();
  const { intoJs, intoPython } = boundary;
  send(message);
  const first = await ear.sound();
  await ear.until(first + (seconds + 0.1) * ear.context.sampleRate);
  ear.clear();
  return { intoJs: (boundary.intoJs - intoJs) / seconds, intoPython: (boundary.intoPython - intoPython) / seconds };
}
