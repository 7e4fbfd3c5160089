// What of a reply has been heard stands in full ink, the rest is lighter: a highlight over its text nodes, so that
// nothing is drawn anew while the voice goes on. Where the browser has no highlights, all stands in full ink.

import { codePoints, utf16Offset } from "./codepoints.mjs";

const unheard = globalThis.Highlight ? new Highlight() : null;
if (unheard) CSS.highlights.set("unheard", unheard);

/** The ink of one reply. Positions are code points of it. */
export class Ink {
  #pieces = []; // {node, start, end, range}, in the reply's order; those before `#first` have been heard
  #first = 0;
  #heard = 0;

  /** A text node shows the reply from `start` on. Nodes come in the reply's order and keep their text. */
  place(node, start) {
    const piece = { node, start, end: start + codePoints(node.data), range: null };
    this.#pieces.push(piece);
    this.#mark(piece);
  }

  /** The reply is shown anew from `start` on. */
  forget(start) {
    while (this.#pieces.length && this.#pieces.at(-1).start >= start) this.#unmark(this.#pieces.pop());
    this.#first = Math.min(this.#first, this.#pieces.length);
  }

  /** The reply has been heard up to `at`. */
  heard(at) {
    if (at < this.#heard) this.#first = 0;
    this.#heard = at;
    while (this.#first < this.#pieces.length) {
      const piece = this.#pieces[this.#first];
      this.#mark(piece);
      if (piece.end > at) break;
      this.#first++;
    }
    if (this.#first === 0) for (const piece of this.#pieces) this.#mark(piece);
  }

  /** Keeps the place the voice is at in view, unless the reader has scrolled away from it. */
  follow(box) {
    const piece = this.#pieces[this.#first];
    if (!piece?.range) return;
    const place = document.createRange();
    place.setStart(piece.node, piece.range.startOffset);
    const { top, bottom } = place.getBoundingClientRect();
    const seen = box.getBoundingClientRect();
    const near = top > seen.top && bottom < seen.bottom + 2 * (bottom - top);
    if (near && bottom > seen.bottom - seen.height / 4) box.scrollBy({ top: seen.height / 2, behavior: "smooth" });
  }

  /** Nothing of it waits to be heard any more. */
  clear() {
    for (const piece of this.#pieces) this.#unmark(piece);
    this.#pieces = [];
    this.#first = 0;
  }

  #mark(piece) {
    const offset = utf16Offset(piece.node.data, Math.max(0, this.#heard - piece.start));
    if (piece.range && piece.range.startOffset === offset) return;
    this.#unmark(piece);
    if (!unheard || offset === piece.node.length) return;
    const { node } = piece;
    piece.range = new StaticRange({ startContainer: node, startOffset: offset, endContainer: node, endOffset: node.length });
    unheard.add(piece.range);
  }

  #unmark(piece) {
    if (piece.range) unheard.delete(piece.range);
    piece.range = null;
  }
}
