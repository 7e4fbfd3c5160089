// Another sample rate, as the samples stream in.
//
// The browser would resample each AudioBuffer by itself, interpolating linearly: a click at every seam, and images
// of every s and t. So a take whose rate is not the context's is brought to it here, by one band-limited filter that
// runs through the whole take.

import { joinedSamples } from "./pcm.mjs";

// A sinc under a Kaiser window of 32 zero crossings a side: images are 90 dB down from half the lower rate on.
const CROSSINGS = 32;
const BETA = 9;
const CUTOFF = 0.91; // of half the lower rate: where the filter begins to fall

/** The modified Bessel function of order 0. */
function bessel(x) {
  let sum = 1;
  for (let k = 1, term = 1; term > sum * 1e-12; k++) sum += term *= (x / 2 / k) ** 2;
  return sum;
}

const commonDivisor = (a, b) => (b ? commonDivisor(b, a % b) : a);

/** Brings a take from one rate to another; n samples become ceil(n · to / from). */
export class Resampler {
  #up;
  #down;
  #scale;
  #reach; // input samples the filter needs on each side
  #filters = new Map(); // by phase
  #held = null; // by channel: the input from sample `#first` on
  #first;
  #received = 0;
  #at = 0; // the next output comes `#phase / #up` after this input sample
  #phase = 0;

  constructor(from, to) {
    const common = commonDivisor(from, to);
    this.#up = to / common;
    this.#down = from / common;
    this.#scale = CUTOFF * Math.min(1, to / from);
    this.#reach = Math.ceil(CROSSINGS / this.#scale);
    this.#first = -this.#reach;
  }

  /** What the next input, a Float32Array a channel, completes. */
  read(channels) {
    this.#held ??= channels.map(() => new Float32Array(this.#reach)); // silence before the first sample
    this.#received += channels[0].length;
    return this.#write(channels, this.#received - this.#reach);
  }

  /** The rest, once there is no more input; null if there was none at all. */
  end() {
    if (this.#held === null) return null;
    const silence = new Float32Array(this.#reach);
    return this.#write(this.#held.map(() => silence), this.#received);
  }

  /** Takes `input` in and puts out every sample that comes before input sample `until`. */
  #write(input, until) {
    const held = this.#held.map((samples, channel) => joinedSamples([samples, input[channel]]));
    const begin = this.#at * this.#up + this.#phase;
    const count = Math.max(0, Math.ceil((until * this.#up - begin) / this.#down));
    const output = held.map(() => new Float32Array(count));
    for (let i = 0; i < count; i++) {
      const filter = this.#filter(this.#phase);
      const from = this.#at - this.#reach + 1 - this.#first;
      for (let channel = 0; channel < held.length; channel++) {
        const samples = held[channel];
        let sum = 0;
        for (let k = 0; k < filter.length; k++) sum += samples[from + k] * filter[k];
        output[channel][i] = sum;
      }
      this.#phase += this.#down;
      this.#at += Math.floor(this.#phase / this.#up);
      this.#phase %= this.#up;
    }
    const done = Math.max(0, this.#at - this.#reach + 1 - this.#first);
    this.#held = held.map((samples) => samples.slice(done));
    this.#first += done;
    return output;
  }

  /** The weights of the input samples around an output, from `#reach − 1` before `#at` to `#reach` after it. */
  #filter(phase) {
    const known = this.#filters.get(phase);
    if (known) return known;
    const filter = Float64Array.from({ length: 2 * this.#reach }, (_, k) => {
      const distance = phase / this.#up - (k - this.#reach + 1);
      const turn = Math.PI * this.#scale * distance;
      const window = bessel(BETA * Math.sqrt(Math.max(0, 1 - (distance / this.#reach) ** 2)));
      return (turn ? Math.sin(turn) / turn : 1) * window;
    });
    const sum = filter.reduce((total, weight) => total + weight);
    const even = filter.map((weight) => weight / sum);
    this.#filters.set(phase, even);
    return even;
  }
}
