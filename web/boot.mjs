// Brings the page to life: the message box from the first paint, Python when it is there.
//
// What is sent before Python is ready waits and then goes. A boot that fails says what failed, keeps what was
// typed (over a reload too) and offers to try again.

import { audioContext, letRun, unlockOnGesture, useSampleRate } from "./audio.mjs";
import { Face } from "./face.mjs";
import { Ink } from "./ink.mjs";
import { audioBuffer, dividedBuffer, joinedBuffer } from "./pcm.mjs";
import { choose, offer, onSetting, openSettings, setting } from "./settings.mjs";
import { TakeReader } from "./take.mjs";
import { fetchWatched, Watch } from "./watch.mjs";
import { peaks, waveform } from "./waveform.mjs";
import { label, name, words } from "./words.mjs";

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
  byId("note").textContent = text ? "" : words("write.empty");
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

// Beside this file, whose path names the content of all of them: a visit never mixes two releases.
const PYODIDE = new URL("./vendor/pyodide/", import.meta.url).href;

function tell(text, share) {
  byId("boot-text").textContent = text;
  byId("boot-progress").value = share;
}

function fail(error) {
  console.error(error);
  phases.failed = performance.now();
  byId("boot").classList.add("failed");
  byId("boot-text").textContent = words("boot.failed", { why: error.message });
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

async function startPython(watch, asked) {
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: PYODIDE, packageBaseUrl: PYODIDE });
  const health = await asked;
  watch.enter("installing", words("boot.installing"), 0.92);
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
  watch.enter("fetching", words("boot.fetching"), 0);
  const files = fetchWatched(
    [
      [`${PYODIDE}pyodide.asm.wasm`, "application/wasm"],
      [`${PYODIDE}python_stdlib.zip`, null],
      [`${PYODIDE}pyodide.asm.mjs`, "javascript"],
      [`${PYODIDE}pyodide.mjs`, "javascript"],
    ],
    (done, all) => {
      watch.touch();
      const megabytes = { done: (done / 1e6).toFixed(1), all: (all / 1e6).toFixed(1) };
      if (done < all) tell(words("boot.fetched", megabytes), (0.8 * done) / all);
      else watch.enter("starting", words("boot.starting"), 0.8);
    },
  );
  const asked = json("health");
  const prepared = Promise.all([asked, json("voices"), import("./card.mjs"), files]);
  // Pyodide fetches the same files at the same time; the browser's cache makes that one transfer.
  const started = startPython(watch, asked);
  started.catch(() => {}); // what is wrong with a file is said better by `files`, which is awaited first
  const [health, voices, { cardFragment }] = await watch.limit(prepared);
  const voice = voices.find((each) => each.id === (setting("voice") || health.voice)) ?? voices[0] ?? null;
  offer(byId("voice"), voices.map((each) => [each.id, each.name]));
  if (voice) byId("voice").value = voice.id;
  if (voice) useSampleRate(voice.sample_rate);
  if (health.model === "scripted") label(byId("who"), "who.scripted");
  else byId("who").textContent = health.model;

  const pyodide = await watch.limit(started);
  const sound = { audioContext, audioBuffer, dividedBuffer, joinedBuffer, letRun, TakeReader };
  const shown = { cardFragment, choose, Face, Ink, kept, label, name, onSetting, peaks, setting, waveform, words };
  pyodide.registerJsModule("onetake_web", { ...sound, ...shown });
  const page = pyodide.pyimport("onetake.browser.page");
  python = page.start(JSON.stringify({ base: at("./"), voices, voice: voice?.id ?? null }));
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
  counts: {
    syntheses: 0, stale_dropped: 0, underruns: 0, errors: 0,
    live_proxies: 0, live_nodes: 0, live_buffers: 0, live_listeners: 0, live_timers: 0, live_fetches: 0,
  },
  audio: { state: null, sample_rate: null, base_latency: null, output_latency: null },
  boot: bootSnapshot(),
  floor: { sent: null, first_delta: null, chars_per_second: null },
});

window.onetake = {
  /** A snapshot of the voice as plain JSON, free of side effects; its fields are in the README. */
  inspect: () => (python === null ? bootingSnapshot() : JSON.parse(python.inspect(JSON.stringify(bootSnapshot())))),
  /** The session as JSON Lines, for `onetake replay`; `{anonymous: true}` masks every word of the conversation. */
  trace: ({ anonymous = false } = {}) => (python === null ? "" : python.trace(anonymous)),
};

openSettings();
tell(words("boot.waking"), 0);
listenToWriting();
unlockOnGesture();
byId("again").addEventListener("click", () => location.reload());
boot().catch(fail);
