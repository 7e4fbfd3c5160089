// A voice for your own page. What there is stands in onetake.d.ts and in the README.
//
//   import { createVoice } from "http://127.0.0.1:8600/onetake.js";
//   const voice = createVoice();
//   voice.read(await fetch("/chat"), { protocol: "openai-chat" });

import { OnetakeVoice } from "./element.mjs";

export { createVoice } from "./voice.mjs";
export { OnetakeVoice };

if (!customElements.get("onetake-voice")) customElements.define("onetake-voice", OnetakeVoice);
