// The cutting rules of design 3 in plain JavaScript, as one would write them for a page of one's own: what the cutter
// in Python is measured beside, and checked against. Positions are code points.

/** How many code points a string has. */
function length(text) {
  let count = 0;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count++;
  return count;
}

const FENCE = /(?:^|(?<=[\r\n])) {0,3}(`{3,}|~{3,})([^\r\n]*)/g;

function withoutCards(text) {
  if (!text.includes("```")) return text;
  let [kept, from, mark, run, card] = ["", 0, "", 0, -1];
  for (const found of text.matchAll(FENCE)) {
    const [line, fence, rest] = found;
    const info = rest.replace(/^[ \t]+|[ \t]+$/g, "");
    if (mark) {
      if (info || fence[0] !== mark || fence.length < run) continue;
      mark = "";
      if (card < 0) continue;
      let end = found.index + line.length;
      if (text.startsWith("\r\n", end)) end += 2;
      else if (text[end] === "\r" || text[end] === "\n") end += 1;
      kept += text.slice(from, card);
      [from, card] = [end, -1];
    } else if (fence[0] === "~" || !info.includes("`")) {
      [mark, run] = [fence[0], fence.length];
      if (mark === "`" && info === "card") card = found.index;
    }
  }
  return kept + text.slice(from, card < 0 ? undefined : card);
}

function speakable(unit) {
  let text = withoutCards(unit).trimEnd();
  let emotion = null;
  for (;;) {
    const start = text.lastIndexOf("[");
    if (start < 0 || text.slice(start, start + 9).toLowerCase() !== "[emotion:") break;
    let name = text.slice(start + 9);
    const closed = name.endsWith("]");
    if (closed) name = name.slice(0, -1);
    if (/[\]\r\n]/.test(name) || (!closed && name.trim().split(/\s+/).length > 1)) break;
    emotion ||= name.trim().toLowerCase() || null;
    text = text.slice(0, start).trimEnd();
  }
  return [text.trim(), emotion];
}

class Cutter {
  #rest = ""; // the text from the cursor on
  #ends = []; // not reached by the text yet
  #cursor = 0;
  length = 0;

  feed(text) {
    this.#rest += text;
    this.length += length(text);
  }

  endUnit(at) {
    this.#ends.push(at);
  }

  take(final = false) {
    const units = [];
    const due = this.#ends.filter((end) => end <= this.length);
    if (due.length) this.#ends = this.#ends.filter((end) => end > this.length);
    if (final) due.push(this.length);
    for (const end of due) {
      if (end <= this.#cursor) continue;
      let at = 0;
      for (let left = end - this.#cursor; left > 0; left--) at += this.#rest.codePointAt(at) > 0xffff ? 2 : 1;
      const [text, emotion] = speakable(this.#rest.slice(0, at));
      if (text) units.push([this.#cursor, end, text, emotion]);
      this.#rest = this.#rest.slice(at);
      this.#cursor = end;
    }
    return units;
  }
}

/** The units of a reply that is `text`, as JSON, streamed in deltas, with an end every so many code points; and how long it took. */
export function cut(text, delta, every) {
  const characters = [...text];
  const deltas = [];
  for (let i = 0; i < characters.length; i += delta) deltas.push(characters.slice(i, i + delta).join(""));
  const began = performance.now();
  const cutter = new Cutter();
  const units = [];
  let end = every;
  for (const each of deltas) {
    cutter.feed(each);
    for (; end <= cutter.length; end += every) cutter.endUnit(end);
    units.push(...cutter.take());
  }
  units.push(...cutter.take(true));
  return { ms: performance.now() - began, units: JSON.stringify(units) };
}
