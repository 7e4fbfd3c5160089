// One take as it streams in: NDJSON bytes become Float32 samples, which never enter the Wasm heap, and
// records for Python to read as JSON. Registered with Pyodide as part of the module `onetake_web`.

/** Bytes of a base64 string. */
const fromBase64 = (text) =>
  Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/**
 * Interleaved s16le bytes to one Float32Array a channel, carrying bytes of an unfinished frame over to the
 * next call: a block may end in the middle of a sample.
 */
export class SampleReader {
  #rest = new Uint8Array(0);

  read(bytes, channels) {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const frames = Math.floor(all.length / (2 * channels));
    this.#rest = all.slice(frames * 2 * channels);
    const view = new DataView(all.buffer);
    return Array.from({ length: channels }, (_, channel) => {
      const samples = new Float32Array(frames);
      for (let i = 0; i < frames; i++) samples[i] = view.getInt16((i * channels + channel) * 2, true) / 32768;
      return samples;
    });
  }
}

/** Splits an NDJSON body into lines and turns its audio into samples (design 6, `POST /speech`). */
export class TakeReader {
  #decoder = new TextDecoder();
  #line = "";
  #samples = new SampleReader();

  /**
   * Takes the next bytes of the body (`null` at its end) and returns what they complete, in order:
   * `{rate, channels: [Float32Array]}` for audio, `{json: line}` for anything else.
   */
  feed(bytes) {
    const text = bytes === null ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true });
    const lines = (this.#line + text).split("\n");
    this.#line = bytes === null ? "" : lines.pop();
    return lines.filter((line) => line.trim()).map((line) => this.#record(line));
  }

  #record(line) {
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      return { json: line }; // Python says what is wrong with it
    }
    if (typeof record?.audio !== "string") return { json: line };
    try {
      return { rate: record.rate, channels: this.#samples.read(fromBase64(record.audio), record.channels ?? 1) };
    } catch {
      return { json: JSON.stringify({ error: { code: "bad_audio", message: "a line of audio is not base64" } }) };
    }
  }
}

/** An AudioBuffer of the given channels; made here so that the samples stay on this side. */
export function audioBuffer(context, channels, rate) {
  const buffer = context.createBuffer(channels.length, channels[0].length, rate);
  channels.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
  return buffer;
}
