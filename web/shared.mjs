// The one Python of a page of somebody else: started with the first voice, shared by all.

import { Outlet } from "./outlet.mjs";
import { json, startRuntime } from "./runtime.mjs";
import { woken } from "./snapshot.mjs";
import * as sound from "./sound.mjs";
import { findSpeaker } from "./speaker.mjs";

/** The server that this file came from, as `web/<hash>/shared.mjs`. */
export const SERVER = new URL("../../", import.meta.url).href;

/** What Python needs of JavaScript to speak in such a page: its module `onetake_web`. */
export const WEB = { ...sound, findSpeaker, Outlet };

let phases = {};
let started = null;

/** Part of what `inspect()` returns (design 10). */
export const bootSnapshot = () => ({ ready_ms: phases.ready ?? null, ...woken, phases: { ...phases } });

/** Pyodide with this package in it. After a start that failed, the next call tries again. */
export function sharedRuntime() {
  started ??= start().catch((error) => {
    started = null;
    throw error;
  });
  return started;
}

async function start() {
  phases = {};
  const pyodide = await startRuntime(SERVER, json(`${SERVER}health`), (phase) => {
    phases[phase] ??= performance.now();
  });
  pyodide.registerJsModule("onetake_web", WEB);
  phases.ready = performance.now();
  return pyodide;
}
