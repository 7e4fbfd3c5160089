// Python in the browser with this package in it: the one way to get it, for the page and for pages of other people.
//
//   const server = "http://127.0.0.1:8600/";
//   const pyodide = await startRuntime(server, json(`${server}health`), (phase, progress) => …);
//   pyodide.registerJsModule("onetake_web", { ...sound });
//   pyodide.pyimport("onetake.browser.page")

import { idle } from "./idle.mjs";
import { addressOf, attempted, find, forget, keep, read, take, trust, woken } from "./snapshot.mjs";
import { fetchWatched, Watch } from "./watch.mjs";

// Beside this file, whose path names the content of all of them: a visit never mixes two releases.
const PYODIDE = new URL("./vendor/pyodide/", import.meta.url).href;

const FILES = [
  [`${PYODIDE}pyodide.asm.wasm`, "application/wasm"],
  [`${PYODIDE}python_stdlib.zip`, null],
  [`${PYODIDE}pyodide.asm.mjs`, "javascript"],
  [`${PYODIDE}pyodide.mjs`, "javascript"],
];

// Pyodide tells nothing of its files. To look how far they are costs up to a tenth of a second, so it is not done before
// somebody may ask.
const LOOK_MS = 1_500;

const STUCK_MS = 25_000;
const RESTORING_STUCK_MS = 10_000; // it takes half a second; what hangs is given up while starting anew still helps

async function fetched(url) {
  const response = await fetch(url).catch(() => null);
  const path = new URL(url).pathname.slice(1);
  if (response === null) throw new Error(`the server does not answer (${path})`);
  if (!response.ok) throw new Error(`${path} answered with status ${response.status}`);
  return response;
}

/** The JSON at `url`, or an error that says what the server answered. */
export const json = async (url) => (await fetched(url)).json();

function checkWasm() {
  try {
    new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  } catch (error) {
    throw new Error(`this browser, or a policy of this page, blocks WebAssembly (${error.message})`);
  }
}

async function load(options) {
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  return loadPyodide({ indexURL: PYODIDE, packageBaseUrl: PYODIDE, ...options });
}

/** Calls that function of `onetake.browser.waking`. */
function callWaking(pyodide, name) {
  const waking = pyodide.pyimport("onetake.browser.waking");
  waking[name]();
  waking.destroy();
}

/** Python as the snapshot has it that was found. */
async function restored(found, archive, watch) {
  watch.enter("starting");
  const pyodide = await load({ _loadSnapshot: read(found) });
  callWaking(pyodide, "renew"); // from memory: there are no files yet
  pyodide.unpackArchive(await archive, "wheel");
  woken.from_snapshot = true;
  return pyodide;
}

/** Python as its files have it. */
async function started(archive, watch, onPhase) {
  watch.enter("fetching");
  let there = false;
  const files = (async () => {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (there) return;
    await fetchWatched(FILES, (done, all) => {
      watch.touch();
      if (all > 0) onPhase("fetching", { done, all });
    });
    if (!there) watch.enter("starting");
  })();
  files.catch(() => {}); // what is wrong with a file is said better by `files` than by Pyodide, so it comes first
  const loading = load({ env: { PYTHONDONTWRITEBYTECODE: "1" } }).catch((error) => files.then(() => Promise.reject(error)));
  const pyodide = await Promise.race([loading, Promise.all([files, archive]).then(() => loading)]);
  there = true;
  watch.enter("installing");
  pyodide.unpackArchive(await archive, "wheel"); // micropip would be a second of work for the same
  callWaking(pyodide, "prepare");
  return pyodide;
}

/** What `run(watch)` returns; fails, too, when nothing has moved for that long. */
async function watched(onPhase, stuck_ms, run) {
  const watch = new Watch(onPhase, stuck_ms);
  try {
    return await watch.limit(run(watch));
  } finally {
    watch.end();
  }
}

/**
 * Starts it. `asked` is the promise of what `GET /health` of `server` answers, an address that ends in a slash.
 * `onPhase` is called with each phase as it begins, "fetching", "starting", "installing"; while fetching also with how
 * many bytes of how many have come, `{done, all}`. A visit after the first goes on from a snapshot, which has but one
 * phase, "starting"; `woken` of snapshot.mjs tells. Fails with what is wrong: a file, the server, the browser, or that
 * nothing moves any more.
 */
export async function startRuntime(server, asked, onPhase) {
  checkWasm();
  const wheel = asked.then((health) => new URL(health.wheel, server).href);
  const address = wheel.then((url) => addressOf(PYODIDE, url));
  const archive = wheel.then(fetched).then((response) => response.arrayBuffer());
  for (const each of [address, archive]) each.catch(() => {}); // it is said where they are awaited
  const restoring = (run) => watched(onPhase, RESTORING_STUCK_MS, run);
  const found = await attempted("finding", () => restoring(() => find(address)));
  if (found !== null) {
    const known = await attempted("restoring", () => restoring((watch) => restored(found, archive, watch)));
    if (known !== null) {
      trust(await address);
      return known;
    }
    await attempted("forgetting", () => forget(server));
  }
  const pyodide = await watched(onPhase, STUCK_MS, (watch) => started(archive, watch, onPhase));
  const memory = await attempted("taking", () => take(pyodide));
  if (memory !== null) void idle().then(() => attempted("keeping", async () => keep(server, await address, memory)));
  return pyodide;
}
