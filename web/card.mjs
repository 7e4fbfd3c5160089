// A card of the reply (Markdown written by a model) as safe DOM: parsed by marked, sanitised by DOMPurify.

import { Marked } from "./vendor/marked/marked.esm.js";
import DOMPurify from "./vendor/dompurify/purify.es.mjs";

const markdown = new Marked({ gfm: true });

/** A DocumentFragment for the card's Markdown. Nothing in it can run, submit or load. */
export function cardFragment(text) {
  return DOMPurify.sanitize(markdown.parse(text), {
    RETURN_DOM_FRAGMENT: true,
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "img", "audio", "video", "picture"],
    FORBID_ATTR: ["style", "id", "class", "name"],
  });
}
