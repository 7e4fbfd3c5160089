// `<onetake-voice>`: a voice with a bar to steer it by and captions of what it says.
//
//   <onetake-voice speech="https://…/speech" voice="local" lang="ko"></onetake-voice>
//   document.querySelector("onetake-voice").voice.read(await fetch("/chat"), { protocol: "openai-chat" })
//
// Its words are in the language of the element or, if that is none of ours, of the browser. It takes the page's font
// and follows its `color-scheme`.

import { Captions } from "./captions.mjs";
import { createVoice } from "./voice.mjs";
import { LANGUAGES, ofBrowser, wordsIn } from "./words.mjs";

const STYLE = `
:host {
  --paper: light-dark(#faf8f4, #191816); --ink: light-dark(#201d19, #f1ece4); --faint: light-dark(#736d65, #948d83);
  --quiet: light-dark(#665f57, #a49d93); --line: light-dark(#ddd6ca, #3a3732); --accent: light-dark(#9c4420, #f0986b);
  --trouble: light-dark(#a3201d, #ff8f87);
  display: block; box-sizing: border-box; max-width: 42rem; border: 1px solid var(--line); border-radius: .8rem;
  padding: .5rem .8rem; background: var(--paper); color: var(--ink); line-height: 1.55;
}
:host([hidden]), [hidden] { display: none !important; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.captions {
  max-height: 9.5em; overflow-y: auto; overflow-wrap: anywhere; white-space: pre-wrap; padding-inline: .2rem;
}
.captions p { margin: .2rem 0 .5rem; }
:lang(ko) { word-break: keep-all; }
.captions em { color: var(--quiet); font-size: .9em; }
.captions .trouble { color: var(--trouble); font-size: .9em; }
::highlight(unheard) { color: var(--faint); }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: .2rem; }
.bar p { flex: 1 1 8rem; margin: 0; color: var(--quiet); font-size: .9em; }
button { font: inherit; color: inherit; background: none; border: 0; border-radius: 2rem; cursor: pointer; }
button:hover:enabled { color: var(--accent); }
button:disabled { opacity: .4; cursor: default; }
.icon { width: 2.5rem; height: 2.5rem; padding: .4rem; line-height: 0; }
.hear { background: var(--accent); color: var(--paper); padding: .3rem 1rem; }
.hear:hover:enabled { color: var(--paper); }
svg {
  width: 100%; height: 100%; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round;
  stroke-linejoin: round;
}
input { width: 6rem; min-width: 3rem; accent-color: var(--accent); }
.pause[data-state="paused"] .holds, .pause:not([data-state="paused"]) .goes { display: none; }
`;

const DRAWN = {
  replay: [["", "M5 5v5h5M5.5 9.5a7.5 7.5 0 1 1-1 5"]],
  pause: [["holds", "M8.5 6v12M15.5 6v12"], ["goes", "M8 5.5v13l10.5-6.5z"]],
  skip: [["", "M6 6v12l9-6zM18 6v12"]],
  stop: [["", "M7 7h10v10H7z"]],
};

const SPEAKS = ["speaking", "paused", "blocked", "listening"];

let sheet = null;

/** The styles of all of them; made of a string here, which the strictest policies allow. */
function style() {
  if (sheet === null) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
  }
  return sheet;
}

function element(name, properties, ...content) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...content);
  return made;
}

function drawing(paths) {
  const made = (name, attributes, ...content) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...content);
    return node;
  };
  const lines = paths.map(([name, d]) => made("path", { class: name, d }));
  return made("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, ...lines);
}

export class OnetakeVoice extends HTMLElement {
  #voice = null;
  #captions = null;
  #parts = {};
  #language = "en";
  #starts = true; // the voice has never been able to speak
  #sounded = false; // something of this reply

  /** What `createVoice` returned; null while the element is in no document. */
  get voice() {
    return this.#voice;
  }

  connectedCallback() {
    if (this.#voice) return; // it was moved
    const given = (name) => this.getAttribute(name) ?? undefined;
    const asked = { speech: given("speech"), voice: given("voice"), token: given("token") };
    this.#voice = createVoice(Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)));
    this.#starts = true;
    this.#sounded = false;
    const said = this.closest("[lang]")?.lang.slice(0, 2);
    this.#language = LANGUAGES.includes(said) ? said : ofBrowser();
    this.#draw();
    this.#listen();
  }

  disconnectedCallback() {
    queueMicrotask(() => {
      if (this.isConnected || !this.#voice) return; // it was moved
      this.#voice.dispose();
      this.#captions.clear();
      this.#voice = this.#captions = null;
      this.shadowRoot.replaceChildren();
    });
  }

  #words(key, fields) {
    return wordsIn(this.#language, key, fields);
  }

  #draw() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [style()];
    const button = (name, act) => {
      const made = element("button", { type: "button", className: `icon ${name}` }, drawing(DRAWN[name]));
      made.addEventListener("click", act);
      this.#name(made, `bar.${name}`);
      return made;
    };
    const voice = this.#voice;
    const hear = element("button", { type: "button", className: "hear", hidden: true }, this.#words("voice.hear"));
    const volume = element("input", { type: "range", min: 0, max: 1, step: 0.05, value: 1 });
    volume.addEventListener("input", () => voice.setVolume(volume.valueAsNumber));
    this.#name(volume, "voice.volume");
    this.#parts = {
      status: element("p", { role: "status" }),
      hear,
      replay: button("replay", () => this.#replay()),
      pause: button("pause", () => (voice.state === "paused" ? voice.resume() : voice.pause())),
      skip: button("skip", () => voice.skip()),
      stop: button("stop", () => voice.stop()),
      volume,
    };
    const bar = element("div", { className: "bar", role: "group", tabIndex: -1 }, ...Object.values(this.#parts));
    bar.lang = this.#language;
    bar.setAttribute("aria-label", this.#words("voice"));
    this.#parts.bar = bar;
    const box = element("div", { className: "captions", role: "group", tabIndex: 0, hidden: true });
    box.setAttribute("aria-label", this.#words("bar.captions"));
    this.#captions = new Captions(box);
    root.replaceChildren(box, bar);
    this.#show("booting", false);
  }

  #name(button, key) {
    button.title = this.#words(key);
    button.setAttribute("aria-label", this.#words(key));
  }

  #replay() {
    try {
      this.#voice.replay();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#parts.status.textContent = this.#words("voice.let_go");
    }
  }

  #listen() {
    const voice = this.#voice;
    voice.addEventListener("state", ({ detail }) => this.#show(detail.state, detail.stopped));
    voice.addEventListener("heard", ({ detail }) => this.#captions.heard(detail.at));
    voice.addEventListener("reset", ({ detail }) => {
      this.#captions.reset(detail);
      this.#sounded &&= detail.at > 0;
    });
    voice.addEventListener("unit", ({ detail }) => {
      this.#captions.show(detail);
      this.#sounded ||= detail.state === "playing";
      this.#parts.replay.disabled = !this.#sounded;
    });
    voice.addEventListener("error", ({ detail: { code, message, unit } }) => {
      if (code === "misuse") return; // not for the listener
      this.#captions.trouble(unit === null ? message : this.#words("unit.failed", { why: message }), unit);
    });
  }

  #show(state, stopped) {
    const { status, hear, replay, pause, skip, stop, bar } = this.#parts;
    let key = `state.${state}`;
    if (state === "booting") key = "boot.waking";
    else if (state === "failed" && this.#starts) key = "bar.failed";
    else if (state === "idle" && this.#sounded) key = stopped ? "state.stopped" : "state.done";
    this.#starts &&= ["booting", "failed"].includes(state);
    if (status.textContent !== this.#words(key)) status.textContent = this.#words(key); // or it is announced again
    const focused = this.shadowRoot.activeElement;
    hear.hidden = state !== "blocked";
    pause.dataset.state = state;
    this.#name(pause, state === "paused" ? "bar.resume" : "bar.pause");
    for (const button of [pause, skip, stop]) button.disabled = !SPEAKS.includes(state);
    replay.disabled = !this.#sounded;
    if (focused?.disabled || focused?.hidden) bar.focus(); // what can no longer be pressed must not keep the keys
  }
}
