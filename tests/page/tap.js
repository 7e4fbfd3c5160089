// Records what reaches the speakers, sample by sample: everything a page connects to an AudioContext's destination
// is connected to a worklet too, which keeps the frames and when they were rendered.
(() => {
  const processor = `registerProcessor("tap", class extends AudioWorkletProcessor {
    process([input]) {
      // Chromium forgets to advance currentFrame for some quanta while the page changes the graph; none is left out
      // then. A quantum too many is only counted at the start.
      const next = (this.frame ?? currentFrame - 128) + 128;
      this.behind = currentFrame < next ? (this.behind ?? 0) + 1 : 0;
      this.frame = this.behind > 50 ? currentFrame : Math.max(currentFrame, next);
      this.port.postMessage([this.frame, input.length ? input[0].slice() : new Float32Array(128)]);
      return true;
    }
  })`;
  const connect = AudioNode.prototype.connect;
  const entries = new Map();
  let waiting = [];

  function entry(context) {
    if (entries.has(context)) return entries.get(context);
    const gain = context.createGain();
    entries.set(context, gain);
    sound.context = context;
    context.audioWorklet.addModule(`data:text/javascript,${encodeURIComponent(processor)}`).then(() => {
      const tap = new AudioWorkletNode(context, "tap");
      tap.port.onmessage = ({ data }) => {
        sound.blocks.push(data);
        const recorded = data[0] + data[1].length;
        for (const [frame, resolve] of waiting) if (frame <= recorded) resolve();
        waiting = waiting.filter(([frame]) => frame > recorded);
      };
      connect.call(gain, tap);
      connect.call(tap, context.destination); // or nothing would pull it; it puts out silence
      sound.ready = true;
    });
    return gain;
  }

  AudioNode.prototype.connect = function (target, ...rest) {
    if (target instanceof AudioDestinationNode && target.context instanceof AudioContext) connect.call(this, entry(target.context));
    return connect.call(this, target, ...rest);
  };

  const sound = (window.sound = {
    context: null,
    ready: false,
    blocks: [],
    /** Times on the audio clock at which the listener pressed something, by the button's id, "submit" for Send. */
    pressed: {},
    /** Resolves once everything before that frame of the audio clock has been recorded. */
    until: (frame) => new Promise((resolve) => waiting.push([frame, resolve])),
    /** Everything recorded so far, as base64 of Float32 little-endian; frames nothing was recorded for are 0. */
    read() {
      const first = sound.blocks.length ? sound.blocks[0][0] : 0;
      const last = sound.blocks.at(-1);
      const samples = new Float32Array(last ? last[0] + last[1].length - first : 0);
      for (const [frame, block] of sound.blocks) samples.set(block, frame - first);
      const bytes = new Uint8Array(samples.buffer);
      let text = "";
      for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
      return { first, rate: sound.context?.sampleRate ?? 0, samples: btoa(text) };
    },
  });
  window.addEventListener("click", ({ target }) => {
    if (sound.context) sound.pressed[target.id || target.type] = sound.context.currentTime;
  }, { capture: true });
})();
