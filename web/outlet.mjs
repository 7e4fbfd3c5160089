// Where the voices in a page of somebody else come out: one AudioContext for all that speak at one rate.
//
// It is unlocked by any gesture of the page, inside it, and closed with the last voice that uses it.

import { letRun, onGesture } from "./audio.mjs";

const USUAL_RATE = 24000; // hertz, until the server has told the voice's own

const outlets = new Set();
const contexts = new Map(); // by rate
let endListening = null;

function unlock() {
  for (const outlet of outlets) if (outlet.context().state !== "running") letRun(outlet.context());
}

/** One voice's hold on such a context. */
export class Outlet {
  #rate = USUAL_RATE;
  #context = null;

  constructor() {
    outlets.add(this);
    endListening ??= onGesture(unlock);
  }

  /** The rate of the voice. A context that a gesture has made before keeps its own, and takes are brought to that. */
  useSampleRate(rate) {
    if (this.#context === null) this.#rate = rate;
  }

  /** The context, made at the first call. Outside a gesture it may be `suspended` until the next one. */
  context() {
    if (this.#context === null) {
      const shared = contexts.get(this.#rate);
      this.#context = shared ?? new AudioContext({ sampleRate: this.#rate, latencyHint: "interactive" });
      contexts.set(this.#rate, this.#context);
    }
    return this.#context;
  }

  /** The voice has ended. Harmless when repeated. */
  release() {
    if (!outlets.delete(this)) return;
    if (outlets.size === 0) {
      endListening();
      endListening = null;
    }
    if (this.#context === null || [...outlets].some((other) => other.#context === this.#context)) return;
    contexts.delete(this.#rate);
    this.#context.close();
  }
}
