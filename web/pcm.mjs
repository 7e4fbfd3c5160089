// Samples: from the bytes of the formats that stream to Float32Arrays and AudioBuffers. They stay on this side of
// the boundary and never enter the Wasm heap.

/** Bytes of a sample, and how one is read, from −1 to 1. Little-endian, as WAV has it, where nothing else is said. */
const FORMATS = {
  u8: [1, (view, at) => (view.getUint8(at) - 128) / 128],
  s16: [2, (view, at) => view.getInt16(at, true) / 32768],
  s16be: [2, (view, at) => view.getInt16(at) / 32768],
  s24: [3, (view, at) => (view.getUint16(at, true) | (view.getInt8(at + 2) << 16)) / 8388608],
  s32: [4, (view, at) => view.getInt32(at, true) / 2147483648],
  f32: [4, (view, at) => view.getFloat32(at, true)],
  f64: [8, (view, at) => view.getFloat64(at, true)],
};

/** Two pieces of bytes as one. */
export function joinedBytes(first, second) {
  if (first.length === 0) return second;
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/**
 * Interleaved bytes to one Float32Array a channel, carrying the bytes of an unfinished frame over to the next
 * call: a block may end in the middle of a sample.
 */
export class SampleReader {
  #rest = new Uint8Array(0);

  constructor(channels, format = "s16") {
    this.channels = channels;
    [this.size, this.sample] = FORMATS[format];
  }

  read(bytes) {
    const all = joinedBytes(this.#rest, bytes);
    const stride = this.size * this.channels;
    const frames = Math.floor(all.length / stride);
    this.#rest = all.slice(frames * stride);
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
    return Array.from({ length: this.channels }, (_, channel) => {
      const samples = new Float32Array(frames);
      for (let i = 0; i < frames; i++) samples[i] = this.sample(view, i * stride + channel * this.size);
      return samples;
    });
  }
}

/** Float32Arrays one after the other as one. */
export function joinedSamples(pieces) {
  if (pieces.length === 1) return pieces[0];
  const all = new Float32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** An AudioBuffer of the given channels, at the context's rate. */
export function audioBuffer(context, channels) {
  const buffer = context.createBuffer(channels.length, channels[0].length, context.sampleRate);
  channels.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
  return buffer;
}

/** AudioBuffers one after the other as one; the widest says how many channels there are. */
export function joinedBuffer(context, ...buffers) {
  const widest = Math.max(...buffers.map((buffer) => buffer.numberOfChannels));
  const channels = Array.from({ length: widest }, (_, channel) =>
    joinedSamples(buffers.map((buffer) => buffer.getChannelData(Math.min(channel, buffer.numberOfChannels - 1)))),
  );
  return audioBuffer(context, channels);
}

/** The two parts of an AudioBuffer before and from a frame on. */
export function dividedBuffer(context, buffer, frame) {
  const channels = Array.from({ length: buffer.numberOfChannels }, (_, channel) => buffer.getChannelData(channel));
  return [
    audioBuffer(context, channels.map((samples) => samples.subarray(0, frame))),
    audioBuffer(context, channels.map((samples) => samples.subarray(frame))),
  ];
}
