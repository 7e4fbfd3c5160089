// Runs before the page. Hears whatever any player of the page puts out, sample by sample, and notes when text comes.
//
//   const ear = await listening.of(context);       // what is connected to that context's output
//   const { frame, ms } = await ear.sound();       // the first audible sample from now on
//   ear.samples(from, to)
//
// A tap stands beside whatever is connected to a context's destination, or to a stream that an element plays. The same
// tap for every player.
(() => {
  const GATHERED = 8; // quanta a message: few enough for the main thread, soon enough for who waits
  const AUDIBLE = 1e-4; // 80 dB below full scale
  const processor = `registerProcessor("ear", class extends AudioWorkletProcessor {
    held = new Float32Array(${128 * GATHERED});
    count = 0;
    process([input]) {
      // Chromium forgets to advance currentFrame for some quanta while the page changes the graph; none is left out then.
      const next = (this.frame ?? currentFrame - 128) + 128;
      this.behind = currentFrame < next ? (this.behind ?? 0) + 1 : 0;
      this.frame = this.behind > 50 ? currentFrame : Math.max(currentFrame, next);
      if (this.count === 0) this.first = this.frame;
      if (input.length) this.held.set(input[0], this.count * 128);
      else this.held.fill(0, this.count * 128, this.count * 128 + 128);
      if (++this.count < ${GATHERED}) return true;
      this.port.postMessage([this.first, this.held.some((sample) => sample !== 0) ? this.held.slice() : null]);
      this.count = 0;
      return true;
    }
  })`;
  const { connect } = AudioNode.prototype;
  const ears = new Map();

  class Ear {
    blocks = []; // [frame, samples], those with any sound
    heard = 0; // the frame up to which everything is here
    #waiting = new Set();

    constructor(context) {
      this.context = context;
      this.entry = context.createGain();
      this.ready = this.#open();
    }

    async #open() {
      const { context } = this;
      await context.audioWorklet.addModule(`data:text/javascript,${encodeURIComponent(processor)}`);
      const tap = new AudioWorkletNode(context, "ear");
      connect.call(this.entry, tap);
      connect.call(tap, context.destination); // or nothing would pull it; it puts out silence
      await new Promise((resolve) => {
        tap.port.onmessage = ({ data: [frame, samples] }) => {
          resolve();
          this.heard = frame + 128 * GATHERED;
          if (samples) this.blocks.push([frame, samples]);
          for (const look of this.#waiting) look();
        };
      });
    }

    /** When that frame comes out of the device, on performance.now(), by the browser's own reckoning. */
    ms(frame) {
      const { contextTime, performanceTime } = this.context.getOutputTimestamp();
      return performanceTime + (frame / this.context.sampleRate - contextTime) * 1000;
    }

    frame() {
      return Math.round(this.context.currentTime * this.context.sampleRate);
    }

    /** Resolves once `condition` has a value; it is looked at whenever more has been heard. */
    #until(condition) {
      return new Promise((resolve) => {
        const look = () => {
          const met = condition();
          if (met === null) return;
          this.#waiting.delete(look);
          resolve(met);
        };
        this.#waiting.add(look);
        look();
      });
    }

    /** Everything before that frame has been heard. */
    until(frame) {
      return this.#until(() => (this.heard >= frame ? frame : null));
    }

    /** The frame of the first audible sample from `from` on, once there is one. */
    sound(from = this.frame()) {
      return this.#until(() => {
        for (const [start, samples] of this.blocks) {
          if (start + samples.length <= from) continue;
          const at = samples.findIndex((sample, i) => start + i >= from && Math.abs(sample) > AUDIBLE);
          if (at >= 0) return start + at;
        }
        return null;
      });
    }

    /** The frame after the last audible sample of all that is here, at least `from`. */
    silent(from) {
      for (const [start, samples] of this.blocks.toReversed()) {
        const at = samples.findLastIndex((sample) => Math.abs(sample) > AUDIBLE);
        if (at >= 0) return Math.max(from, start + at + 1);
      }
      return from;
    }

    /** What was heard, from one frame up to another; silence where nothing was. */
    samples(from, to) {
      const found = new Float32Array(Math.max(0, to - from));
      for (const [start, samples] of this.blocks) {
        samples.forEach((sample, i) => {
          if (start + i >= from && start + i < to) found[start + i - from] = sample;
        });
      }
      return found;
    }

    clear() {
      this.blocks.length = 0;
    }
  }

  const earOf = (context) => {
    if (!ears.has(context)) ears.set(context, new Ear(context));
    return ears.get(context);
  };

  AudioNode.prototype.connect = function (target, ...rest) {
    const out = target instanceof AudioDestinationNode || target instanceof MediaStreamAudioDestinationNode;
    if (out && target.context instanceof AudioContext) connect.call(this, earOf(target.context).entry);
    return connect.call(this, target, ...rest);
  };

  // When the text of a reply comes to the page.
  let marks = null;
  const { read } = ReadableStreamDefaultReader.prototype;
  ReadableStreamDefaultReader.prototype.read = async function () {
    const result = await read.call(this);
    if (marks && result.value instanceof Uint8Array) {
      const text = new TextDecoder().decode(result.value);
      if (/^event: delta/m.test(text)) marks.first ??= performance.now();
      if (/^event: (unit_end|final)/m.test(text)) {
        marks.closed = performance.now();
        marks = null;
      }
    }
    return result;
  };

  window.listening = {
    /** Notes into `noted` when the next reply's first text and the end of its first unit come, `first` and `closed`. */
    noteInto: (noted) => void (marks = noted),
    /** The ear at that context's output, which listens by then. */
    async of(context) {
      const ear = earOf(context);
      await ear.ready;
      return ear;
    },
    /** The ear of the page's own context, which must have been the first. */
    page: () => listening.of(ears.keys().next().value),
    forget: (context) => void ears.delete(context),
  };
})();
