// Brings the page to life: the message box from the first paint, Python when it is there.
//
// What is sent before Python is ready waits and then goes. A boot that fails says what failed, keeps what was
// typed (over a reload too) and offers to try again.

import { unlockOnGesture, useSampleRate } from "./audio.mjs";
import { bootingSnapshot, devTools } from "./devtools.mjs";
import { Face } from "./face.mjs";
import { idle } from "./idle.mjs";
import { Ink } from "./ink.mjs";
import { json, startRuntime } from "./runtime.mjs";
import { choose, offer, onSetting, openSettings, setting } from "./settings.mjs";
import { woken } from "./snapshot.mjs";
import * as sound from "./sound.mjs";
import { peaks, waveform } from "./waveform.mjs";
import { label, name, words } from "./words.mjs";

const at = (path) => new URL(path, document.baseURI).href;
const byId = (id) => document.getElementById(id);

const phases = {};
let python = null; // what onetake.browser.page.start() returned
let pyodideVersion = null;

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
  for (const example of byId("hint").querySelectorAll("button")) {
    example.addEventListener("click", () => ((input.value = example.textContent), send()));
  }
  input.addEventListener("input", () => {
    byId("note").textContent = "";
    kept.write("draft", input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  });
}

// -- boot -----------------------------------------------------------------------------------------------------

const SHARES = { fetching: 0, starting: 0.8, installing: 0.92 }; // of the whole boot, when each phase begins

function tell(text, share) {
  byId("boot-text").textContent = text;
  byId("boot-progress").value = share;
}

function fail(error) {
  console.error(error);
  phases.failed = performance.now();
  byId("boot").classList.add("failed");
  const doing = words(`boot.${error.stuck ?? "waking"}`).replace(/ …$/, "");
  const why = error.stuck ? words("boot.stuck", { doing }) : error.message;
  byId("boot-text").textContent = words("boot.failed", { why });
  byId("boot-progress").hidden = true;
  byId("again").hidden = false;
}

/** Shows how far the boot is; `progress` counts the bytes of its downloads. */
function onPhase(phase, progress) {
  phases[phase] ??= performance.now();
  if (progress === null) return tell(words(`boot.${phase}`), SHARES[phase]);
  const { done, all } = progress;
  tell(words("boot.fetched", { done: (done / 1e6).toFixed(1), all: (all / 1e6).toFixed(1) }), (0.8 * done) / all);
}

/** Whose voice it is: known long before Python is there, so that a click in the meantime opens audio at its rate. */
async function chooseVoice(asked) {
  const [health, voices] = await Promise.all([asked, json(at("voices"))]);
  const voice = voices.find((each) => each.id === (setting("voice") || health.voice)) ?? voices[0] ?? null;
  offer(byId("voice"), voices.map((each) => [each.id, each.name]));
  if (voice) byId("voice").value = voice.id;
  if (voice) useSampleRate(voice.sample_rate);
  if (health.model === "scripted") label(byId("who"), "who.scripted");
  else byId("who").textContent = health.model;
  return { voices, voice: voice?.id ?? null };
}

async function boot() {
  const asked = json(at("health"));
  const started = startRuntime(at("./"), asked, onPhase);
  const [pyodide, chosen, { cardFragment }] = await Promise.all([started, chooseVoice(asked), import("./card.mjs")]);
  const shown = { cardFragment, choose, Face, idle, Ink, kept, label, name, onSetting, peaks, setting, waveform, words };
  pyodideVersion = pyodide.version;
  pyodide.registerJsModule("onetake_web", { ...sound, ...shown });
  const page = pyodide.pyimport("onetake.browser.page");
  python = page.start(JSON.stringify({ base: at("./"), ...chosen }));
  page.destroy();
  phases.ready = performance.now();
  byId("boot").hidden = true;
  deliver();
  void keepFiles();
}

/** Keeps the page's files for the next visit, if the browser lets it. */
async function keepFiles() {
  await idle();
  await navigator.serviceWorker?.register(at("service-worker.js")).catch(({ message }) => console.info(message));
}

/** Part of what `inspect()` returns (design 10). */
const bootSnapshot = () => ({ ready_ms: phases.ready ?? null, ...woken, phases: { ...phases } });

const bootState = () => (byId("boot").classList.contains("failed") ? "failed" : "booting");

window.onetake = devTools({
  inspect: ({ anonymous = false } = {}) =>
    python === null
      ? bootingSnapshot(bootState(), bootSnapshot())
      : JSON.parse(python.inspect(JSON.stringify(bootSnapshot()), anonymous)),
  trace: ({ anonymous = false } = {}) => (python === null ? "" : python.trace(anonymous)),
  about: () => ({ pyodide: pyodideVersion }),
});

openSettings();
tell(words("boot.waking"), 0);
listenToWriting();
unlockOnGesture();
byId("again").addEventListener("click", () => location.reload());
boot().catch(fail);
