// A voice in a page of somebody else, as its scripts see it. It is there at once: what is asked of it while Python
// still starts waits and then goes, in order. The voice itself is `onetake.browser.embedded_voice`; only JSON passes
// between them.

import { bootingSnapshot, report } from "./devtools.mjs";
import {
  checkedOptions, checkIndex, checkNumber, checkPlace, checkProtocol, checkResponse, checkText,
} from "./misuse.mjs";
import { Outlet } from "./outlet.mjs";
import { bootSnapshot, SERVER, sharedRuntime } from "./shared.mjs";
import { findSpeaker } from "./speaker.mjs";

const NOT_READ = { ended: true, awaiting: false, lastEventId: null };

/** A voice, at once; it can speak as soon as its `ready` resolves, and says then what it was given before. */
export const createVoice = (options = {}) => new Voice(checkedOptions(options, SERVER));

class Voice extends EventTarget {
  #outlet = new Outlet();
  #python = null; // its counterpart, a PyProxy
  #state = "booting"; // then "live", or for good "failed" or "disposed"
  #waiting = []; // what was asked for before it was live
  #half = ""; // the first half of a character that is outside of UTF-16's basic plane
  #last = null; // what was to be seen when it was disposed

  /** Resolves when it can speak; fails with what is wrong, which an `error` event tells too. */
  ready;

  constructor({ speech, voice, token }) {
    super();
    this.ready = this.#boot(speech, voice, token);
    this.ready.catch(() => {}); // told by the event
  }

  async #boot(speech, id, token) {
    try {
      const finding = findSpeaker(speech, id, token).then((speaker) => {
        this.#outlet.useSampleRate(speaker.sample_rate); // known long before Python is there: a gesture may come first
        return speaker;
      });
      const [pyodide, speaker] = await Promise.all([sharedRuntime(), finding]);
      if (this.#state === "disposed") return;
      const embedding = pyodide.pyimport("onetake.browser.embedding");
      this.#python = embedding.counterpart(JSON.stringify(speaker), this.#outlet, this.#tell);
      embedding.destroy();
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    this.#tell("state", JSON.stringify({ state: "idle", stopped: false }));
    while (this.#waiting.length) this.#waiting.shift().go();
    if (this.#state === "booting") this.#state = "live";
  }

  #fail(error) {
    if (this.#state === "disposed") return;
    this.#state = "failed";
    this.#outlet.release();
    for (const { leave } of this.#waiting.splice(0)) leave(error);
    this.#tell("state", JSON.stringify({ state: "failed", stopped: false }));
    this.#tell("error", JSON.stringify({ code: error.code ?? "boot_failed", message: error.message, unit: null }));
  }

  /** Makes an event of what Python tells. An error that no listener takes to itself goes to the console. */
  #tell = (type, detail) => {
    const event = new CustomEvent(type, { detail: JSON.parse(detail), cancelable: type === "error" });
    if (this.dispatchEvent(event) && type === "error") console.error(`onetake: ${event.detail.message}`);
  };

  // -- asking ---------------------------------------------------------------------------------------------------

  /** Has Python do that, now or in its turn. Once the voice has failed or was disposed it does nothing. */
  #call(name, ...given) {
    if (this.#state === "live") this.#done(name, given);
    else if (this.#state === "booting") this.#waiting.push({ go: () => this.#doLate(name, given), leave: () => {} });
  }

  #done(name, given) {
    const { value, misuse } = JSON.parse(this.#python.call(name, JSON.stringify(given)));
    if (misuse) throw new RangeError(misuse);
    return value;
  }

  #doLate(name, given) {
    try {
      this.#done(name, given);
    } catch (error) {
      this.#tell("error", JSON.stringify({ code: "misuse", message: error.message, unit: null }));
    }
  }

  /** Has Python do what takes a while; `otherwise` is the result if it comes to nothing. */
  #promise(ask, otherwise, leave = () => {}) {
    if (this.#state === "disposed") return leave(), Promise.resolve(otherwise);
    if (this.#state === "failed") return leave(), this.ready.then(() => otherwise);
    return new Promise((resolve, reject) => {
      const go = async () => {
        const { value, misuse } = JSON.parse(await ask());
        if (misuse) throw new RangeError(misuse);
        return value;
      };
      if (this.#state === "live") return void go().then(resolve, reject);
      this.#waiting.push({
        go: () => go().then(resolve, reject),
        leave: (error) => (leave(), error ? reject(error) : resolve(otherwise)),
      });
    });
  }

  // -- the reply ------------------------------------------------------------------------------------------------

  begin() {
    this.#half = "";
    this.#call("begin");
  }

  delta(text) {
    checkText("delta", text);
    const all = this.#half + text;
    this.#half = /[\ud800-\udbff]$/.test(all) ? all.at(-1) : "";
    const whole = all.slice(0, all.length - this.#half.length).toWellFormed();
    if (whole) this.#call("delta", whole);
  }

  unitEnd(at) {
    checkPlace("unitEnd", at);
    this.#call("unit_end", at);
  }

  reset(at = 0) {
    checkPlace("reset", at);
    this.#half = "";
    this.#call("reset", at);
  }

  final() {
    if (this.#half) this.#call("delta", "\ufffd");
    this.#half = "";
    this.#call("final");
  }

  async read(response, { protocol } = {}) {
    checkResponse(response);
    checkProtocol(protocol);
    this.#half = "";
    return this.#promise(() => this.#python.read(response, protocol), NOT_READ, () => void response.body?.cancel());
  }

  // -- the listener ---------------------------------------------------------------------------------------------

  stop() {
    this.#call("stop");
  }

  pause() {
    this.#call("pause");
  }

  resume() {
    this.#call("resume");
  }

  skip() {
    this.#call("skip");
  }

  replay(unit) {
    if (unit !== undefined) checkIndex("replay", unit);
    this.#call("replay", unit ?? null);
  }

  setVolume(volume) {
    checkNumber("setVolume", volume);
    this.#call("set_volume", volume);
  }

  mute(on = true) {
    this.#call("mute", Boolean(on));
  }

  setSpeed(speed) {
    checkNumber("setSpeed", speed);
    this.#call("set_speed", speed);
  }

  async setOutputDevice(device) {
    checkText("setOutputDevice", device);
    return this.#promise(() => this.#python.set_output_device(device), undefined);
  }

  // -- what is to be seen ---------------------------------------------------------------------------------------

  get state() {
    return this.inspect().state;
  }

  get heard() {
    return this.#python && !this.#last ? this.#done("heard", []) : this.inspect().heard;
  }

  inspect({ anonymous = false } = {}) {
    if (this.#last) return this.#last;
    if (this.#python) return this.#done("inspect", [bootSnapshot(), anonymous]);
    return bootingSnapshot(this.#state, bootSnapshot());
  }

  trace({ anonymous = false } = {}) {
    return this.#python && !this.#last ? this.#done("trace", [anonymous]) : "";
  }

  report() {
    return report(this);
  }

  dispose() {
    if (this.#state === "disposed") return;
    this.#state = "disposed";
    for (const { leave } of this.#waiting.splice(0)) leave(null);
    const boot = bootSnapshot();
    this.#last = this.#python ? JSON.parse(this.#python.dispose(JSON.stringify(boot))) : bootingSnapshot("idle", boot);
    this.#python?.destroy();
    this.#outlet.release();
  }
}
