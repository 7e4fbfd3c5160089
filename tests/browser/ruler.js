// The ruler voice: speech whose samples tell which take they are of and where they stand in it, sent as a test
// wants it. A recording of it says exactly which sample of which take sounded when.
//
//   ruler.plan("some text", {take: 1, frames: 24000, chunk: 100})      // how "some text" is answered
//   fetch("/ruler", {method: "POST", body: '{"text": "some text"}', signal})
//   ruler.pieces()                                                     // [[take, first, frames, at], …]
(() => {
  const RATE = 24000;
  const LENGTH = 8000; // positions repeat after a third of a second: a jump by exactly that would pass
  const plans = new Map();
  const waiting = [];

  /** 16-bit samples of take 0 to 7; none is 0. */
  function samplesOf(take, frames) {
    const sign = take < 4 ? 1 : -1;
    return Int16Array.from({ length: frames }, (_, i) => sign * ((take % 4) * 8192 + 1 + (i % LENGTH)));
  }

  /** Take and position of a sample as recorded, or null if no take has such a sample (it was faded). */
  function meaning(sample) {
    const value = Math.abs(sample) * 32768;
    const position = (value % 8192) - 1;
    if (!Number.isInteger(value) || position < 0 || position >= LENGTH) return null;
    return [Math.floor(value / 8192) + (sample < 0 ? 4 : 0), position];
  }

  const utf8 = (text) => new TextEncoder().encode(text);
  const line = (record) => utf8(JSON.stringify(record) + "\n");
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

  function wavHeader(bytes, { size = bytes.length, format = 1, bits = 16, extra = 0 } = {}) {
    const head = new DataView(new ArrayBuffer(44 + (extra && extra + 8)));
    const put = (at, letters) => [...letters].forEach((letter, i) => head.setUint8(at + i, letter.charCodeAt(0)));
    put(0, "RIFF"), put(8, "WAVEfmt ");
    head.setUint32(4, size === bytes.length ? 36 + size : size, true);
    head.setUint32(16, 16, true), head.setUint16(20, format, true), head.setUint16(22, 1, true);
    head.setUint32(24, RATE, true), head.setUint32(28, (RATE * bits) / 8, true);
    head.setUint16(32, bits / 8, true), head.setUint16(34, bits, true);
    let at = 36;
    if (extra) put(at, "LIST"), head.setUint32(at + 4, extra, true), (at += 8 + extra);
    put(at, "data"), head.setUint32(at + 4, size, true);
    return new Uint8Array(head.buffer);
  }

  function* split(bytes, size) {
    for (let at = 0; at < bytes.length; ) {
      const next = at + (size === "random" ? 1 + Math.floor(Math.random() * 5000) : size);
      yield bytes.subarray(at, next);
      at = next;
    }
  }

  /** What is sent, piece by piece; a number is a pause of so many seconds of the audio clock. */
  function* pieces(plan) {
    const { take = 0, frames = 2400, format = "ndjson", chunk = 4096, pauses = [], alignment, wav } = plan;
    if (plan.body !== undefined) return yield utf8(plan.body);
    if (plan.file) return yield Uint8Array.from(atob(plan.file), (character) => character.charCodeAt(0));
    const sound = new Uint8Array(plan.sound ?? samplesOf(take, frames).buffer);
    const known = new Map(pauses); // [after so many frames, seconds]
    const stops = [...known.keys(), sound.length / 2].filter((frame) => frame > 0);
    let from = 0;
    if (format === "wav") yield* split(wavHeader(sound, wav), chunk);
    if (alignment) yield line({ alignment });
    if (known.has(0)) yield known.get(0);
    for (const until of stops) {
      for (const part of split(sound.subarray(2 * from, 2 * until), chunk)) {
        yield format === "ndjson" ? line({ audio: base64(part), rate: RATE, channels: 1 }) : part;
      }
      if (until < frames || known.has(frames)) yield known.get(until);
      from = until;
    }
    if (plan.fails) return yield "fails";
    if (format === "wav" && wav?.after) yield utf8(wav.after);
    if (plan.last) yield utf8(plan.last);
    if (format === "ndjson" && !plan.cut) yield line({ end: true, seconds: frames / RATE });
  }

  const TYPES = { ndjson: "application/x-ndjson", pcm: `audio/pcm;rate=${RATE}`, wav: "audio/wav" };

  async function answer(body, signal) {
    const { text } = body;
    const plan = plans.get(text) ?? {};
    ruler.asked.push(text);
    ruler.bodies.push(body);
    waiting.splice(0).forEach((resolve) => resolve());
    if (plan.unreachable-- > 0) throw new TypeError("network error"); // so many times, before anything came back
    let ended = false;
    const aborted = new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        if (!ended) ruler.aborted.push(text);
        reject(signal.reason);
      });
    });
    aborted.catch(() => {});
    if (plan.never) await aborted;
    const parts = pieces(plan);
    const stream = new ReadableStream({
      start: (controller) => void aborted.catch((reason) => controller.error(reason)),
      async pull(controller) {
        const { done, value } = parts.next();
        if (signal.aborted) return;
        ended = done || value === "fails";
        if (done) controller.close();
        else if (ended) controller.error(new TypeError("network error"));
        else if (typeof value === "number") await Promise.race([ruler.advance(value), aborted]).catch(() => {});
        else controller.enqueue(value);
        if (typeof value === "number" && !signal.aborted) await this.pull(controller);
      },
    }, { highWaterMark: 0 });
    return new Response(stream, { status: plan.status ?? 200, headers: { "content-type": plan.type ?? TYPES[plan.format ?? "ndjson"] } });
  }

  const real = window.fetch;
  window.fetch = (url, options) =>
    url === "/ruler" ? answer(JSON.parse(options.body), options.signal) : real(url, options);

  const ruler = (window.ruler = {
    /** The texts asked for, and those whose answer was not at its end when the request was aborted. */
    asked: [],
    aborted: [],
    bodies: [],
    context: null,
    /** Every AudioBuffer that was made, as a WeakRef. */
    made: [],

    plan: (text, plan) => void plans.set(text, plan),

    /** An AudioContext that runs, with the tap recording all of it. */
    async open() {
      const context = (ruler.context = new AudioContext({ sampleRate: RATE }));
      context.createBuffer = (...form) => {
        const buffer = BaseAudioContext.prototype.createBuffer.apply(context, form);
        ruler.made.push(new WeakRef(buffer));
        return buffer;
      };
      const probe = ruler.context.createGain();
      probe.connect(ruler.context.destination); // the tap fits itself
      while (!sound.ready || !sound.blocks.length) await new Promise((resolve) => requestAnimationFrame(resolve));
      await ruler.advance(0.5); // its count of frames is right by then
      probe.disconnect();
    },

    /** Resolves once that text has been asked for. */
    async reached(text) {
      while (!ruler.asked.includes(text)) await new Promise((resolve) => waiting.push(resolve));
    },

    /** A clean sheet for the next test. */
    clear() {
      plans.clear();
      ruler.asked.length = ruler.aborted.length = ruler.bodies.length = sound.blocks.length = 0;
    },

    /** Has the next file wait before it is decoded; `decoding` resolves when it is there. */
    holdDecoding() {
      const { context } = ruler;
      ruler.decoding = new Promise((reached) => {
        context.decodeAudioData = (file) => {
          delete context.decodeAudioData;
          reached();
          return new Promise((resolve) => (ruler.release = resolve)).then(() => context.decodeAudioData(file));
        };
      });
    },

    async releaseDecoding() {
      ruler.release();
      await ruler.advance(0.1);
    },

    /** Takes the device away, as a phone call does, until the context is resumed. */
    interrupt() {
      const { get } = Object.getOwnPropertyDescriptor(BaseAudioContext.prototype, "state");
      const state = () => (get.call(ruler.context) === "running" ? "running" : "interrupted");
      Object.defineProperty(ruler.context, "state", { get: state, configurable: true });
      ruler.context.suspend();
      ruler.context.resume = () => {
        delete ruler.context.state;
        delete ruler.context.resume;
        return ruler.context.resume();
      };
    },

    /** Resolves once so many seconds of the audio clock have passed and are recorded. */
    advance: (seconds) => sound.until(ruler.frame() + Math.round(seconds * RATE)),

    /** The frame of the audio clock that is rendered next. */
    frame: () => Math.round(ruler.context.currentTime * RATE),

    /**
     * The recording as pieces [take, first position, frames, frame of the clock]: samples that follow each other in
     * their take without a gap. Take −1 is sound that is no take's as it was sent, such as a fade.
     */
    pieces() {
      const found = [];
      let last = null;
      for (const [start, samples] of sound.blocks) {
        samples.forEach((sample, i) => {
          const at = start + i;
          if (sample === 0) return void (last = null);
          const [take, position] = meaning(sample) ?? [-1, 0];
          const follows = last && last[0] === take && last[3] + last[2] === at;
          if (follows && (take < 0 || (last[1] + last[2]) % LENGTH === position)) last[2] += 1;
          else found.push((last = [take, position, 1, at]));
        });
      }
      return found;
    },
  });
})();
