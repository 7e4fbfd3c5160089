// What Python plays sound with: the half of its JS module `onetake_web` that every host of the voice needs.

export { audioContext, letRun } from "./audio.mjs";
export { audioBuffer, dividedBuffer, joinedBuffer } from "./pcm.mjs";
export { TakeReader } from "./take.mjs";
