// Everything an embedding page may write, as TypeScript sees it; never run. What must not compile is marked.

import { createVoice, OnetakeVoice } from "http://127.0.0.1:8600/onetake.js";
import type { Snapshot, State, UnitState, Voice, VoiceEvents } from "http://127.0.0.1:8600/onetake.js";

const voice: Voice = createVoice({ speech: new URL("https://voice.example/speech"), voice: "local", token: "secret" });
createVoice();
// @ts-expect-error: there is no such option
createVoice({ speach: "/speech" });

voice.begin();
voice.delta("One moment. ");
voice.unitEnd(11);
voice.reset();
voice.reset(11);
voice.final();
// @ts-expect-error: text only
voice.delta(new Uint8Array());

async function converse(): Promise<void> {
  await voice.ready;
  const { ended, awaiting, lastEventId } = await voice.read(await fetch("/chat"), { protocol: "ai-sdk-ui" });
  const id: string | null = lastEventId;
  const both: boolean = ended && awaiting;
  await voice.setOutputDevice("");
  // @ts-expect-error: a promise is no response
  await voice.read(fetch("/chat"), { protocol: "ai-sdk-ui" });
  // @ts-expect-error: there is no such protocol
  await voice.read(await fetch("/chat"), { protocol: "smoke-signals" });
  void id, void both;
}

voice.pause();
voice.resume();
voice.skip();
voice.replay();
voice.replay(0);
voice.setVolume(0.5);
voice.setSpeed(1.25);
voice.mute();
voice.mute(false);
voice.stop();

voice.addEventListener("unit", ({ detail }) => {
  const state: UnitState = detail.state;
  const shown: string = detail.pieces.map(({ kind, text }) => (kind === "direction" ? `(${text})` : text)).join("");
  void state, void shown;
});
const onHeard = (event: CustomEvent<VoiceEvents["heard"]>): void => console.log(event.detail.at.toFixed());
voice.addEventListener("heard", onHeard, { once: true });
voice.removeEventListener("heard", onHeard);
voice.addEventListener("error", (event) => {
  if (event.detail.unit === null) event.preventDefault();
});
// @ts-expect-error: its detail has no such field
voice.addEventListener("state", ({ detail }) => detail.heard);
voice.addEventListener("of-your-own", (event: Event) => event.type);

const state: State = voice.state;
const heard: number = voice.heard;
const snapshot: Snapshot = voice.inspect({ anonymous: true });
const texts: string[] = snapshot.units.map((unit) => unit.text);
const lines: string[] = voice.trace({ anonymous: true }).split("\n");
const file: string = voice.report();
// @ts-expect-error: read only
voice.heard = 3;

const element: OnetakeVoice = document.createElement("onetake-voice");
document.querySelector("onetake-voice")?.voice?.stop();
document.body.append(element);

voice.dispose();
void [state, heard, texts, lines, file, converse, OnetakeVoice];
