// The page's one AudioContext, unlocked inside a gesture.
//
// Browsers let audio start only from the call stack of a user's gesture, which is gone by the time Python
// runs (pyodide.md 21). So the gesture listeners live here and Python is given the context.

let context = null;
let sampleRate = 24000;

/** The rate of the voice in use: a context at that rate plays blocks without resampling each of them. */
export function useSampleRate(rate) {
  if (context === null) sampleRate = rate;
}

/** The context, made at the first call. Outside a gesture it may be `suspended` until the next one. */
export function audioContext() {
  context ??= new AudioContext({ sampleRate, latencyHint: "interactive" });
  return context;
}

/** Lets a context run, if the browser allows it now; its state tells. Not awaited: `resume()` may never settle. */
export function letRun(context) {
  context.resume().catch(() => {});
}

function unlock() {
  if (audioContext().state !== "running") letRun(context);
}

/** Calls `act` in every gesture of the page, synchronously. Returns its own undoing. */
export function onGesture(act) {
  const gestures = ["pointerdown", "pointerup", "keydown", "submit"];
  for (const type of gestures) window.addEventListener(type, act, { capture: true });
  return () => gestures.forEach((type) => window.removeEventListener(type, act, { capture: true }));
}

/** Makes every gesture of the page unlock audio. Returns its own undoing. */
export const unlockOnGesture = () => onGesture(unlock);
