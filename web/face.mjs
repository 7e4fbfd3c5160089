// The face: it breathes like a bellows with the level of the voice and shows the emotion of what is being said.

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Names that models give to emotions, by the look the face has for them; any other leaves it as it is at rest. */
const LOOKS = {
  warm: "warm affection calm gentle love kind tender soft content relaxed",
  joy: "joy happy happiness excited excitement cheerful laugh laughing playful amused proud delight",
  sad: "sad sadness sorrow lonely tired sorry melancholy disappointed",
  surprise: "surprise surprised amazed wonder curious awe",
  worry: "worry worried fear afraid anxious nervous concern concerned serious angry anger",
};
const LOOK_OF = new Map(
  Object.entries(LOOKS).flatMap(([look, names]) => names.split(" ").map((name) => [name, look])),
);

const QUIET = 0.02; // the level of a voice that is hardly heard
const SETTLE = 0.15; // part of the way to the new level that the bellows go in a frame

/** Moves the drawing in `element` with what sounds; its style does the rest, from `--breath` (0 to 1) and `data-look`. */
export class Face {
  #element;
  #analyser = null;
  #samples = null;
  #breath = 0;
  #frame = null;

  constructor(element) {
    this.#element = element;
  }

  /** Breathes with what goes through `node` from now on, instead of any node before. */
  listen(node) {
    this.#analyser?.disconnect();
    this.#analyser = new AnalyserNode(node.context, { fftSize: 1024 });
    this.#samples = new Float32Array(this.#analyser.fftSize);
    node.connect(this.#analyser);
  }

  /** What the voice does (design 10) and the emotion of what it says, or "". */
  show(state, emotion) {
    this.#element.dataset.state = state;
    this.#element.dataset.look = LOOK_OF.get(emotion) ?? "rest";
    if (this.#frame === null && state === "speaking" && !still.matches) this.#move();
  }

  #move = () => {
    const speaks = this.#element.dataset.state === "speaking" && !still.matches;
    this.#breath += ((speaks ? this.#level() : 0) - this.#breath) * SETTLE;
    const rests = !speaks && this.#breath < 0.005;
    if (rests) this.#breath = 0;
    this.#element.style.setProperty("--breath", this.#breath.toFixed(3));
    this.#frame = rests ? null : requestAnimationFrame(this.#move);
  };

  /** From 0, silence, to 1, a loud voice. */
  #level() {
    if (this.#analyser === null) return 0;
    this.#analyser.getFloatTimeDomainData(this.#samples);
    const power = this.#samples.reduce((sum, sample) => sum + sample * sample, 0) / this.#samples.length;
    return Math.min(1, Math.max(0, 0.35 * Math.log2(Math.sqrt(power) / QUIET + 1)));
  }
}
