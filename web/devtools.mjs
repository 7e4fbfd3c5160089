// What someone debugging finds at the console: to see inside the voice, and to send us what was seen.
//
//   window.onetake = devTools({ inspect, trace, about: () => ({ pyodide: "314.0.7" }) });
//
// `inspect({anonymous})` and `trace({anonymous})` are those of the page, or of any voice. The lines at level debug and
// the tracks of the Performance panel come from Python (`onetake.browser.devtools`).

/** What `inspect()` returns until Python can tell: the same fields, nothing in them yet. `state` is booting or failed. */
export const bootingSnapshot = (state, boot) => ({
  version: null,
  generation: 0,
  state,
  cursor: 0,
  length: 0,
  final: false,
  heard: 0,
  units: [],
  counts: {
    syntheses: 0, stale_dropped: 0, underruns: 0, errors: 0,
    live_proxies: 0, live_nodes: 0, live_buffers: 0, live_listeners: 0, live_timers: 0, live_fetches: 0,
  },
  audio: { state: null, sample_rate: null, base_latency: null, output_latency: null },
  boot,
  floor: { sent: null, first_delta: null, chars_per_second: null },
});

const HELP = `\
onetake.inspect()             what the voice does now, as plain JSON; reading it changes nothing
onetake.trace()               all that happened to it so far, as JSON Lines, for \`onetake replay FILE\`
                              both take {anonymous: true}, which masks every word of the conversation
onetake.report()              saves a file for a bug report: inspect() and trace(), every word masked
onetake.help()                prints this
localStorage.onetakeDebug = 1 a line at level debug (Verbose) for each change of state, until it is deleted
Performance panel             a recording shows the life of each unit on a track of its own, under Onetake`;

/**
 * Saves a file for a bug report and returns its name: a line on the browser and the state of `voice`, then its trace.
 * Every word of the conversation is masked. `about` adds what else its maker should know, plain JSON.
 */
export function report(voice, about = {}) {
  const made = new Date().toISOString();
  const { userAgent: browser, hardwareConcurrency: cores } = navigator;
  const head = { report: { made, browser, cores, ...about, inspect: voice.inspect({ anonymous: true }) } };
  const name = `onetake-report-${made.slice(0, 19).replace("T", "-").replaceAll(":", "")}.jsonl`;
  save(name, `${JSON.stringify(head)}\n${voice.trace({ anonymous: true })}`);
  return name;
}

const KEPT_MS = 60_000; // a download may ask where to go first

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

/** The object for `window.onetake`, over `inspect` and `trace`; `about()` is asked for each report. */
export const devTools = ({ inspect, trace, about }) => ({
  /** A snapshot of the voice as plain JSON, free of side effects; its fields are in the README. */
  inspect,
  /** The session as JSON Lines, for `onetake replay`. */
  trace,
  report: () => report({ inspect, trace }, about()),
  help: () => console.info(HELP),
});
