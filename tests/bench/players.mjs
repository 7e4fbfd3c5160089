// Players of one and the same take, side by side in one page: ours, which is the page's own, and what others use.
//
// Every run is the same for all: a message is sent to the server, the reply is written, its unit closes, the take is
// asked for and played. Ours is driven by the page's form and buttons. The others read the same reply with the few
// lines below, ask for the same samples as raw PCM or WAV, straight from the engine, and are handed each block as it
// comes.

import { WavStreamPlayer } from "/bench/packages/wavtools/lib/wav_stream_player.js";
import { MediaDeviceOutput } from "/bench/packages/client/dist/platform/web/output.js";

const RATE = 24000;
const QUIET = 0.3; // seconds of silence that end what is heard

const byId = (id) => document.getElementById(id);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const engine = (format, text) => `/bench/take.${format}?text=${encodeURIComponent(text)}`;

/** The text of a reply's first unit as soon as it is closed; when the first of it came is noted in `marks`. */
async function written(message, marks) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ text: message }) };
  const reader = (await fetch("/replies", options)).body.getReader();
  const decoder = new TextDecoder();
  let [text, begun] = ["", ""];
  for (;;) {
    const { done, value } = await reader.read();
    const now = performance.now();
    if (done) throw new Error("the reply ended before its first unit");
    const events = (begun + decoder.decode(value, { stream: true })).split("\n\n");
    begun = events.pop();
    for (const event of events) {
      if (event.startsWith("event: delta")) {
        marks.first ??= now;
        text += JSON.parse(event.match(/^data: (.*)$/m)[1]).text;
      } else if (/^event: (unit_end|final)/.test(event)) {
        marks.closed = now;
        return text;
      }
    }
  }
}

/** Hands on the blocks of a PCM stream as they come, in whole samples. */
async function streamed(text, signal, onBlock) {
  const reader = (await fetch(engine("pcm", text), { signal })).body.getReader();
  let rest = new Uint8Array(0);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const bytes = new Uint8Array(rest.length + value.length);
    bytes.set(rest), bytes.set(value, rest.length);
    const whole = bytes.length - (bytes.length % 2);
    rest = bytes.slice(whole);
    if (whole) onBlock(bytes.slice(0, whole).buffer);
  }
}

const whole = async (text, signal) => (await fetch(engine("wav", text), { signal })).blob();

// -- the players: each opens to { ear, failed, speak(message, marks), stop(), close() } ----------------------------------

const never = new Promise(() => {});

/** One of others: reads the reply with `written`, then plays its take. */
async function other(context, { play, stop, close }) {
  const aborting = new AbortController();
  let fail;
  return {
    ear: await listening.of(context),
    failed: new Promise((_, reject) => (fail = reject)),
    async speak(message, marks) {
      const text = await written(message, marks);
      play(text, aborting.signal).catch((error) => aborting.signal.aborted || fail(error));
    },
    stop() {
      aborting.abort();
      stop();
    },
    async close() {
      await close();
      listening.forget(context);
    },
  };
}

const players = {
  /** The page itself. */
  onetake: async () => ({
    ear: await listening.page(),
    failed: never,
    async speak(message, marks) {
      listening.noteInto(marks);
      byId("text").value = message;
      byId("write").requestSubmit();
    },
    stop: () => byId("stop").click(),
    close() {},
  }),

  /** What many web UIs do: the whole answer as a blob, then an audio element. */
  element() {
    const context = new AudioContext({ sampleRate: RATE });
    const audio = new Audio();
    context.createMediaElementSource(audio).connect(context.destination);
    return other(context, {
      async play(text, signal) {
        audio.src = URL.createObjectURL(await whole(text, signal));
        await audio.play();
      },
      stop: () => audio.pause(),
      close() {
        URL.revokeObjectURL(audio.src);
        return context.close();
      },
    });
  },

  /** `wavtools`: a worklet that is sent the samples. */
  async wavtools() {
    const player = new WavStreamPlayer({ sampleRate: RATE });
    await player.connect();
    player._start(); // else its first node, and with it the ear, would come with the first block
    return other(player.context, {
      play: (text, signal) => streamed(text, signal, (block) => player.add16BitPCM(block)),
      stop: () => player.interrupt(),
      close: () => player.context.close(),
    });
  },

  /** The output of `@elevenlabs/client`, which its conversations play through: a worklet into an audio element. */
  async elevenlabs() {
    const output = await MediaDeviceOutput.create({ sampleRate: RATE, format: "pcm" });
    return other(output.context, {
      play: (text, signal) => streamed(text, signal, (block) => output.playAudio(block)),
      stop: () => output.interrupt(),
      close: () => output.close(),
    });
  },
};

/** Nothing more comes: what was heard from that frame on has been followed by silence. */
async function quiet(ear, from) {
  while (ear.heard < ear.silent(from) + QUIET * RATE) await ear.until(ear.silent(from) + QUIET * RATE);
}

async function opened(name) {
  const player = await players[name]();
  await player.ear.until(player.ear.frame()); // it hears by now
  return player;
}

// -- from the message to the first sound, from the stop to the last -------------------------------------------------------

/**
 * Lets the player say what `message` orders for so many seconds, then stops it.
 *
 * Resolves once it is stopped, to milliseconds: `token` and `closed` from the first text and from the unit's end to the
 * first sound as it comes out of the device, `device` what of it is the device's; and `rest`, a promise of `last`, from
 * the stop to the last audible sample on the audio clock, and `heard`, how much sound that was, as time at the loudness
 * before the stop.
 */
export async function run(name, message, seconds) {
  const player = await opened(name);
  const { ear } = player;
  const marks = { first: null, closed: null };
  const begun = ear.frame();
  await player.speak(message, marks);
  const first = await Promise.race([ear.sound(begun), player.failed]);
  const sound = ear.ms(first);
  const device = (ear.context.baseLatency + ear.context.outputLatency) * 1000;
  const found = { token: sound - marks.first, closed: sound - marks.closed, device };
  await ear.until(first + seconds * RATE);
  const stopped = ear.frame();
  player.stop();
  return { ...found, rest: rest(player, first, stopped) };
}

async function rest({ ear, close }, first, stopped) {
  await quiet(ear, stopped);
  const silent = ear.silent(stopped);
  const sum = (samples) => samples.reduce((all, sample) => all + Math.abs(sample), 0);
  const before = ear.samples(first, stopped).filter((sample) => sample !== 0);
  const loudness = sum(before) / before.length;
  const heard = sum(ear.samples(stopped, silent)) / loudness;
  const found = { last: (silent - stopped) / (RATE / 1000), heard: heard / (RATE / 1000) };
  ear.clear();
  await close();
  return found;
}

const finished = (runs) => Promise.all(runs.map(async (one) => ({ ...one, rest: await one.rest })));

/** `rounds` times each of the players in turn; what each run found, by player. */
export async function compare(names, message, seconds, rounds) {
  const runs = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      await runs[name].at(-1)?.rest; // one who is still heard would be taken for the next
      runs[name].push(await run(name, message, seconds));
    }
  }
  for (const name of names) runs[name] = await finished(runs[name]);
  return runs;
}

/** So many runs of one player, not ours, each begun a little after the other. */
export async function overlapping(name, message, seconds, count) {
  const runs = Array.from({ length: count }, async (_, i) => {
    await pause(i * 600); // so that few are heard at a time
    return run(name, message, seconds);
  });
  return finished(await Promise.all(runs));
}

// -- from one take to the next ----------------------------------------------------------------------------------------------

/** Several takes one after the other, all of them ready: chained the way it is named. */
const chains = {
  async elements(context, blobs) {
    const audios = blobs.map((blob) => new Audio(URL.createObjectURL(blob)));
    for (const [i, audio] of audios.entries()) {
      context.createMediaElementSource(audio).connect(context.destination);
      audio.addEventListener("ended", () => audios[i + 1]?.play());
    }
    await Promise.all(audios.map((audio) => new Promise((resolve) => (audio.oncanplaythrough = resolve))));
    await audios[0].play();
  },
  async buffers(context, blobs) {
    const buffers = await Promise.all(blobs.map(async (blob) => context.decodeAudioData(await blob.arrayBuffer())));
    const begin = (i) => {
      if (i === buffers.length) return;
      const source = context.createBufferSource();
      source.buffer = buffers[i];
      source.connect(context.destination);
      source.onended = () => begin(i + 1);
      source.start();
    };
    begin(0);
  },
};

/** Milliseconds of silence at each seam, and the audible frames in all, of `texts` spoken by an `ended` chain. */
export async function chained(how, texts, seconds) {
  const context = new AudioContext({ sampleRate: RATE });
  context.createGain().connect(context.destination);
  const ear = await listening.of(context);
  const blobs = await Promise.all(texts.map((text) => whole(text)));
  await chains[how](context, blobs);
  const found = await seams(ear, 0, texts.length, seconds);
  await context.close();
  listening.forget(context);
  return found;
}

/** The same of a reply with a unit for each take, spoken by the page. */
export async function spoken(message, units, seconds) {
  const player = await opened("onetake");
  const { ear } = player;
  const begun = ear.frame();
  await player.speak(message, {});
  return seams(ear, begun, units, seconds);
}

async function seams(ear, begun, takes, seconds) {
  const first = await ear.sound(begun);
  await ear.until(first + takes * seconds * RATE);
  await quiet(ear, first);
  const samples = ear.samples(first, ear.silent(first));
  const gaps = [];
  let [silence, frames] = [0, 0];
  for (const sample of samples) {
    if (Math.abs(sample) <= 1e-4) {
      silence++;
      continue;
    }
    if (silence) gaps.push(silence / (RATE / 1000));
    silence = 0;
    frames++;
  }
  ear.clear();
  while (gaps.length < takes - 1) gaps.push(0); // where one take follows the other without a gap there is none to be found
  return { gaps, frames };
}
