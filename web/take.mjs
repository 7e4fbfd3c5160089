// One take as its bytes stream in, whatever the format: our NDJSON, raw PCM and WAV become samples as they come,
// anything else is kept whole for `decodeAudioData`. Registered with Pyodide as part of the module `onetake_web`.

import { joinedBytes, joinedSamples, SampleReader } from "./pcm.mjs";
import { Resampler } from "./resample.mjs";
import { isWav, WavError, WavReader } from "./wav.mjs";

const SNIFFED = 12; // bytes that tell a WAV file or JSON from anything else
const CHANNELS = 32; // as many as Web Audio promises
const RATES = [3_000, 768_000]; // hertz, as Web Audio promises

/** Bytes of a base64 string. */
const fromBase64 = (text) =>
  Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** What Python reads: samples at the context's rate, joined to one piece a feed, then the lines that follow them. */
class Output {
  #rate;
  #resampler = null; // of the rate `#from`
  #from = null;
  #audio = [];
  #records = [];

  constructor(rate) {
    this.#rate = rate;
  }

  /** Whether there can be such audio; if not, that is put out as the take's error. */
  accepts(channels, rate) {
    if (!(Number.isInteger(channels) && channels >= 1 && channels <= CHANNELS)) {
      return this.error("bad_audio", `audio with ${channels} channels`);
    }
    if (!(Number.isInteger(rate) && rate >= RATES[0] && rate <= RATES[1])) {
      return this.error("bad_audio", `audio with ${rate} samples a second`);
    }
    return true;
  }

  audio(channels, rate) {
    if (rate !== this.#from) {
      this.#flush();
      this.#from = rate;
      this.#resampler = rate === this.#rate ? null : new Resampler(rate, this.#rate);
    }
    this.#piece(this.#resampler ? this.#resampler.read(channels) : channels);
  }

  /** A line for Python; the take has no more audio after an `end`. */
  line(json, end = false) {
    if (end) this.#flush();
    this.#records.push({ json });
  }

  error(code, what) {
    this.line(JSON.stringify({ error: { code, message: `the speech server sent ${what}` } }), true);
    return false;
  }

  encoded(bytes) {
    this.#records.push({ encoded: bytes.buffer });
  }

  /** All there is by now. */
  records() {
    const records = [...this.#audio.map((pieces) => ({ channels: channelsOf(pieces) })), ...this.#records];
    this.#audio = [];
    this.#records = [];
    return records;
  }

  #piece(channels) {
    if (channels[0].length === 0) return;
    const last = this.#audio.at(-1);
    if (last?.[0].length === channels.length) last.push(channels);
    else this.#audio.push([channels]);
  }

  #flush() {
    const rest = this.#resampler?.end();
    if (rest) this.#piece(rest);
    this.#resampler = this.#from = null;
  }
}

const channelsOf = (pieces) => pieces[0].map((_, channel) => joinedSamples(pieces.map((piece) => piece[channel])));

/**
 * Turns the body of one answer into samples and lines.
 *
 * `type` is the answer's content type, `rate` the context's. Raw PCM that does not tell its rate has the context's,
 * which is the voice's.
 */
export class TakeReader {
  #output;
  #format = null;
  #head = new Uint8Array(0);

  constructor(type, rate) {
    this.type = type;
    this.rate = rate;
    this.#output = new Output(rate);
  }

  /**
   * Takes the next bytes of the body (none at its end) and returns what they complete, in order:
   * `{channels: [Float32Array]}` is audio at the context's rate, `{encoded: ArrayBuffer}` a whole file to decode,
   * `{json}` anything else, as a line of our NDJSON.
   */
  feed(bytes = null) {
    if (this.#format === null) {
      this.#head = joinedBytes(this.#head, bytes ?? new Uint8Array(0));
      if (bytes !== null && this.#head.length < SNIFFED) return [];
      this.#format = formatOf(this.#head, this.type, this.rate);
      this.#format(this.#head, this.#output);
      this.#head = null;
      bytes = bytes && new Uint8Array(0);
    }
    this.#format(bytes, this.#output);
    return this.#output.records();
  }
}

// A format is a function of the next bytes (null at the end of the body) and of the output.

function formatOf(head, type, rate) {
  const kind = type.split(";")[0].trim().toLowerCase();
  if (isWav(head)) return wav();
  const json = /^\s*[[{]\s*["{]/.test(new TextDecoder().decode(head));
  if (json && !/ndjson|jsonl/.test(kind) && /json|^audio\//.test(kind)) return text();
  // RFC 2586 has L16 in network order, but over HTTP it is little-endian as pcm and s16le are: Gemini, Amazon Lex and
  // IBM send it so. IBM's documented parameter is the one way to ask for the other order.
  if (/^audio\/(x-)?(pcm|l16|s16le|raw)\b/.test(kind)) {
    const order = /;\s*endianness\s*=\s*"?big-endian/i.test(type) ? "s16be" : "s16";
    return raw(parameter(type, "rate") ?? rate, parameter(type, "channels") ?? 1, order);
  }
  if (/^(audio|video)\/|\/ogg$|octet-stream|^$/.test(kind)) return json ? ndjson() : whole();
  return ndjson();
}

const parameter = (type, name) => {
  const found = type.match(new RegExp(`;\\s*${name}\\s*=\\s*"?(\\d+)`, "i"));
  return found && Number(found[1]);
};

function ndjson() {
  const decoder = new TextDecoder();
  let begun = "";
  let samples = null;

  function record(line, output) {
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      return output.line(line, true); // Python says what is wrong with it
    }
    if (typeof record?.audio !== "string") return output.line(line, Boolean(record?.end || record?.error));
    const channels = record.channels ?? 1;
    if (!output.accepts(channels, record.rate)) return;
    let bytes;
    try {
      bytes = fromBase64(record.audio);
    } catch {
      return void output.error("bad_audio", "a line of audio that is not base64");
    }
    if (samples?.channels !== channels) samples = new SampleReader(channels);
    output.audio(samples.read(bytes), record.rate);
  }

  return (bytes, output) => {
    const lines = (begun + (bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode())).split("\n");
    begun = lines.pop();
    for (const line of lines) if (line.trim()) record(line, output);
    if (bytes) return;
    const last = begun.trim();
    if (last && (last.endsWith("}") || !last.startsWith("{"))) record(last, output); // else it was cut off
    output.line('{"cut": true}', true);
  };
}

function raw(rate, channels, order) {
  const samples = new SampleReader(channels, order);
  return (bytes, output) => {
    if (bytes && output.accepts(channels, rate)) output.audio(samples.read(bytes), rate);
    else if (!bytes) output.line('{"end": true}', true);
  };
}

function wav() {
  const reader = new WavReader();
  let broken = false;
  return (bytes, output) => {
    if (broken) return;
    try {
      const channels = bytes && reader.read(bytes);
      if (channels && output.accepts(channels.length, reader.rate)) output.audio(channels, reader.rate);
      else if (!bytes && !reader.rate) throw new WavError("it ends within its header");
      else if (!bytes) output.line('{"end": true}', true);
    } catch (error) {
      if (!(error instanceof WavError)) throw error;
      broken = true;
      output.error("unsupported_audio", `a WAV file that cannot be played: ${error.message}`);
    }
  };
}

function whole() {
  const pieces = [];
  return (bytes, output) => {
    if (bytes) return void pieces.push(bytes.slice());
    const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
    pieces.reduce((at, piece) => (all.set(piece, at), at + piece.length), 0);
    if (all.length) output.encoded(all);
    output.line('{"end": true}', true);
  };
}

/** JSON where audio should be: the server says what went wrong. */
function text() {
  const decoder = new TextDecoder();
  let all = "";
  return (bytes, output) => {
    all += bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    if (!bytes) output.line(all, true);
  };
}
