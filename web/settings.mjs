// The two sheets of the page, and what the listener has chosen in one of them: kept by the browser, told to whoever asks.
//
//   setting("spoken")                      what was chosen, or what is usual
//   onSetting((name, value) => …)          called at every change

import { LANGUAGES, ofBrowser, useLanguage } from "./words.mjs";

const USUAL = {
  language: "auto", voice: "", speed: 1, device: "", volume: 1, muted: false,
  spoken: true, paragraphs: false, directions: true, apart: true,
};
const KEY = "onetake.settings";

const chosen = { ...USUAL, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
const listeners = [];

/** What was chosen under that name, or what is usual. */
export const setting = (name) => chosen[name];

/** Calls `listener(name, value)` at every change. */
export const onSetting = (listener) => listeners.push(listener);

/** Chooses; the browser keeps it. */
export function choose(name, value) {
  chosen[name] = value;
  localStorage.setItem(KEY, JSON.stringify(chosen));
  apply(name);
  for (const listener of listeners) listener(name, value);
}

function apply(name) {
  if (name === "language") useLanguage(LANGUAGES.includes(chosen.language) ? chosen.language : ofBrowser());
  if (name === "directions") document.documentElement.dataset.directions = chosen.directions ? "shown" : "hidden";
  if (name === "muted") byId("mute").setAttribute("aria-pressed", chosen.muted);
  if (name === "speed") byId("speed-value").textContent = `${chosen.speed}×`;
}

const byId = (id) => document.getElementById(id);

/** Fills a choice with `[value, text]` pairs after those it has, and shows it if there is anything to choose. */
export function offer(select, pairs) {
  for (const [value, text] of pairs) select.add(new Option(text, value));
  if ([...select.options].some((option) => option.value === chosen[select.name])) select.value = chosen[select.name];
  select.closest(".choice").hidden = select.options.length < 2;
}

/** Offers the devices the browser tells of; it tells only pages that may use a microphone which there are. */
async function offerDevices() {
  if (!("setSinkId" in AudioContext.prototype) || !navigator.mediaDevices) return;
  const select = byId("device");
  const found = await navigator.mediaDevices.enumerateDevices().catch(() => []);
  const outputs = found.filter(({ kind, deviceId }) => kind === "audiooutput" && deviceId && deviceId !== "default");
  while (select.options.length > 1) select.remove(1);
  offer(select, outputs.map(({ deviceId, label }) => [deviceId, label]));
}

/** By the type of a field: the event of a choice, what holds it, and what makes a setting of it. */
const FIELDS = {
  "checkbox": ["change", "checked", Boolean],
  "range": ["input", "value", Number],
  "select-one": ["change", "value", String],
};

/** Brings the sheets to life. */
export function openSettings() {
  for (const name of Object.keys(USUAL)) apply(name);
  for (const sheet of document.querySelectorAll("dialog")) {
    const button = byId(sheet.dataset.opener);
    button.addEventListener("click", () => sheet.showModal());
    sheet.addEventListener("click", ({ target }) => target === sheet && sheet.close()); // beside it
  }
  byId("settings").addEventListener("toggle", () => void offerDevices());
  for (const field of [...byId("choices").elements, byId("volume")]) {
    if (!(field.name in USUAL)) continue;
    const [event, key, read] = FIELDS[field.type];
    field[key] = chosen[field.name];
    field.addEventListener(event, () => choose(field.name, read(field[key])));
  }
  byId("mute").addEventListener("click", () => choose("muted", !chosen.muted));
  byId("volume").addEventListener("input", () => chosen.muted && choose("muted", false)); // who turns it up wants to hear
}
