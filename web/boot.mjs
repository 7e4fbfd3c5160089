// Brings the page to life: the message box from the first paint, Python when it is there.
//
// What is sent before Python is ready waits and then goes. A boot that fails says what failed, keeps what was
// typed (over a reload too) and offers to try again.

import { audioContext, hold, unlockOnGesture, useSampleRate } from "./audio.mjs";
import { audioBuffer, TakeReader } from "./pcm.mjs";
import { fetchWatched, Watch } from "./watch.mjs";

const at = (path) => new URL(path, document.baseURI).href;
const byId = (id) => document.getElementById(id);

const phases = {};
let python = null; // what onetake.browser.page.start() returned

// -- what the listener writes ---------------------------------------------------------------------------------

const kept = {
  read: (key, otherwise) => JSON.parse(sessionStorage.getItem(`onetake.${key}`) ?? JSON.stringify(otherwise)),
  write: (key, value) => sessionStorage.setItem(`onetake.${key}`, JSON.stringify(value)),
};
const outbox = kept.read("outbox", []);

function showMessage(text) {
  const article = document.createElement("article");
  article.className = "message waiting";
  article.textContent = text;
  byId("hint").hidden = true;
  byId("log").append(article);
  article.scrollIntoView({ block: "end" });
}

function deliver() {
  if (python === null || outbox.length === 0) return;
  document.querySelectorAll(".message.waiting").forEach((article) => article.classList.remove("waiting"));
  python.send(outbox.splice(0).join("\n\n"));
  kept.write("outbox", outbox);
}

function send(event) {
  event?.preventDefault();
  const input = byId("text");
  const text = input.value.trim();
  byId("note").textContent = text ? "" : "There is nothing to send yet: write something first.";
  if (!text) return input.focus();
  input.value = "";
  kept.write("draft", "");
  outbox.push(text);
  kept.write("outbox", outbox);
  showMessage(text);
  deliver();
}

function listenToWriting() {
  const input = byId("text");
  input.value = kept.read("draft", "") || input.value;
  outbox.forEach(showMessage);
  byId("write").addEventListener("submit", send);
  input.addEventListener("input", () => {
    byId("note").textContent = "";
    kept.write("draft", input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  });
}

// -- boot -----------------------------------------------------------------------------------------------------

const PYODIDE = at("web/vendor/pyodide/");

function tell(text, share) {
  byId("boot-text").textContent = text;
  byId("boot-progress").value = share;
}

function fail(error) {
  console.error(error);
  phases.failed = performance.now();
  byId("boot").classList.add("failed");
  byId("boot-text").textContent = `The voice could not start: ${error.message}. What you wrote is kept.`;
  byId("boot-progress").hidden = true;
  byId("again").hidden = false;
}

/** The server's JSON, or an error that says what it answered. */
async function json(path) {
  const response = await fetch(at(path)).catch(() => null);
  if (response === null) throw new Error(`the server does not answer (${path})`);
  if (!response.ok) throw new Error(`${path} answered with status ${response.status}`);
  return response.json();
}

function checkWasm() {
  try {
    new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  } catch (error) {
    throw new Error(`this browser, or a policy of this page, blocks WebAssembly (${error.message})`);
  }
}

async function startPython(watch, health) {
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: PYODIDE, packageBaseUrl: PYODIDE });
  watch.enter("installing", "Unpacking Onetake …", 0.92);
  const problems = [];
  await pyodide.loadPackage("micropip", {
    messageCallback: () => {},
    errorCallback: (message) => problems.push(message),
  });
  if (problems.length) throw new Error(problems.join("; "));
  const micropip = pyodide.pyimport("micropip");
  await micropip.install(at(health.wheel));
  micropip.destroy();
  return pyodide;
}

async function boot() {
  const watch = new Watch((phase, text, share) => {
    phases[phase] = performance.now();
    tell(text, share);
  });
  checkWasm();
  watch.enter("fetching", "Fetching the voice …", 0);
  const files = fetchWatched(
    [
      [`${PYODIDE}pyodide.asm.wasm`, "application/wasm"],
      [`${PYODIDE}python_stdlib.zip`, null],
      [`${PYODIDE}pyodide.asm.mjs`, "javascript"],
      [`${PYODIDE}pyodide.mjs`, "javascript"],
    ],
    (done, all) => {
      watch.touch();
      if (done < all) tell(`Fetching the voice: ${(done / 1e6).toFixed(1)} of ${(all / 1e6).toFixed(1)} MB`, (0.8 * done) / all);
      else watch.enter("starting", "Starting Python …", 0.8);
    },
  );
  const prepared = Promise.all([json("health"), json("voices"), import("./card.mjs"), files]);
  // Pyodide fetches the same files; the browser's cache makes that one transfer.
  const [health, voices, { cardFragment }] = await watch.limit(prepared);
  const voice = voices.find((each) => each.id === health.voice) ?? voices[0] ?? null;
  if (voice) useSampleRate(voice.sample_rate);
  byId("who").textContent =
    health.model === "scripted" ? "A scripted companion: it follows a script and is no model." : health.model;

  const pyodide = await watch.limit(startPython(watch, health));
  pyodide.registerJsModule("onetake_web", { audioContext, audioBuffer, cardFragment, hold, TakeReader });
  const page = pyodide.pyimport("onetake.browser.page");
  python = page.start(JSON.stringify({ base: at("./"), voice }));
  page.destroy();
  phases.ready = performance.now();
  watch.end();
  byId("boot").hidden = true;
  deliver();
}

/** Part of what `inspect()` returns (design 10). */
const bootSnapshot = () => ({ ready_ms: phases.ready ?? null, from_snapshot: false, phases: { ...phases } });

/** What `inspect()` returns until Python can tell: the same fields, nothing in them yet. */
const bootingSnapshot = () => ({
  version: null,
  generation: 0,
  state: byId("boot").classList.contains("failed") ? "failed" : "booting",
  cursor: 0,
  length: 0,
  final: false,
  heard: 0,
  units: [],
  counts: { syntheses: 0, stale_dropped: 0, underruns: 0, errors: 0, live_proxies: 0, live_nodes: 0 },
  audio: { state: null, sample_rate: null, base_latency: null, output_latency: null },
  boot: bootSnapshot(),
  floor: { sent: null, first_delta: null, chars_per_second: null },
});

window.onetake = {
  /** A snapshot of the voice as plain JSON, free of side effects; its fields are in the README. */
  inspect: () => (python === null ? bootingSnapshot() : JSON.parse(python.inspect(JSON.stringify(bootSnapshot())))),
};

listenToWriting();
unlockOnGesture();
byId("again").addEventListener("click", () => location.reload());
boot().catch(fail);
