// What a voice says, as it says it: each unit from when it is settled on, in full ink up to where it was heard.

import { Ink } from "./ink.mjs";

const paragraph = (className, ...content) => {
  const made = document.createElement("p");
  made.className = className;
  made.append(...content);
  return made;
};

export class Captions {
  #box;
  #ink = new Ink();
  #units = new Map(); // by index: {start, element}; those without anything to show are not there
  #trouble = null; // what went wrong with all of it

  /** They are shown in `box`, which is hidden while there are none. */
  constructor(box) {
    this.#box = box;
  }

  /** A `unit` event of the voice. */
  show({ index, start, pieces }) {
    if (this.#units.has(index) || pieces.length === 0) return;
    const nodes = pieces.map(({ kind, text, start: at }) => {
      const node = document.createTextNode(text);
      this.#ink.place(node, at);
      if (kind === "text") return node;
      const direction = document.createElement("em");
      direction.append(node);
      return direction;
    });
    const element = document.createElement("div");
    element.append(paragraph("said", ...nodes));
    this.#units.set(index, { start, element });
    this.#box.append(element);
    this.#box.hidden = false;
  }

  /** A `reset` event: from `at` on nothing stands. */
  reset({ at }) {
    this.#ink.forget(at);
    for (const [index, { start, element }] of this.#units) {
      if (start < at) continue;
      element.remove();
      this.#units.delete(index);
    }
    this.#trouble?.remove();
    if (at === 0) this.#ink.heard(0);
    this.#box.hidden = this.#units.size === 0;
  }

  /** The reply was heard up to `at`. */
  heard(at) {
    this.#ink.heard(at);
    this.#ink.follow(this.#box);
  }

  /** Something went wrong with the unit of that index, or with all of it (null). */
  trouble(message, index) {
    const said = paragraph("trouble", message);
    const unit = this.#units.get(index);
    if (unit) return unit.element.append(said);
    this.#trouble?.remove();
    this.#trouble = said;
    this.#box.append(said);
    this.#box.hidden = false;
  }

  clear() {
    this.#ink.clear();
  }
}
