// The header of a WAV file, as its bytes stream in: split anywhere, and with sizes that mean nothing, because a
// server that streams does not know them yet.

import { joinedBytes, SampleReader } from "./pcm.mjs";

const HEADER_BYTES = 1 << 20; // pictures and lyrics may stand before the samples; more than this is no header

const INTEGER = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe; // the format's number follows, at the start of its GUID

export class WavError extends Error {}

/** Whether a file that begins with these bytes is a WAV file. */
export const isWav = (head) =>
  ["RIFF", "RF64"].includes(letters(head, 0)) && letters(head, 8) === "WAVE";

/** Reads the header once, then samples. `read` returns null until the header is whole. */
export class WavReader {
  #head = new Uint8Array(0);
  #samples = null;
  #left = Infinity; // bytes of the data chunk: what follows it is not sound
  rate = 0;

  read(bytes) {
    if (this.#samples === null) {
      this.#head = joinedBytes(this.#head, bytes);
      const start = this.#parse();
      if (start === null) return null;
      bytes = this.#head.subarray(start);
      this.#head = null;
    }
    const data = bytes.subarray(0, Math.min(bytes.length, this.#left));
    this.#left -= data.length;
    return this.#samples.read(data);
  }

  /** Where the samples begin, or null if that is not known yet. */
  #parse() {
    const head = this.#head;
    if (head.length < 12) return null;
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
    let format = null;
    for (let at = 12; at + 8 <= head.length; ) {
      const name = letters(head, at);
      const size = view.getUint32(at + 4, true);
      if (name === "data") {
        if (format === null) throw new WavError("its samples come before their format");
        this.rate = format.rate;
        this.#samples = new SampleReader(format.channels, format.samples);
        if (size > 0 && size < 0x7fffff00) this.#left = size; // else it was streamed: up to the end of the body
        return at + 8;
      }
      if (at + 8 + size > head.length) break;
      if (name === "fmt ") format = formatOf(view, at + 8, size);
      at += 8 + size + (size % 2);
    }
    if (head.length > HEADER_BYTES) throw new WavError("its header has no end");
    return null;
  }
}

function formatOf(view, at, size) {
  if (size < 16) throw new WavError("its format is cut short");
  let kind = view.getUint16(at, true);
  if (kind === EXTENSIBLE && size >= 26) kind = view.getUint16(at + 24, true);
  const channels = view.getUint16(at + 2, true);
  const rate = view.getUint32(at + 4, true);
  const bits = view.getUint16(at + 14, true);
  const samples = { [INTEGER]: { 8: "u8", 16: "s16", 24: "s24", 32: "s32" }, [FLOAT]: { 32: "f32", 64: "f64" } }[kind]?.[bits];
  if (!samples) throw new WavError(`its format ${kind} with ${bits} bits is none of PCM (8 to 32 bits) and float`);
  if (view.getUint16(at + 12, true) !== (channels * bits) / 8) throw new WavError("its frames are not packed");
  return { channels, rate, samples };
}

function letters(bytes, at) {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}
