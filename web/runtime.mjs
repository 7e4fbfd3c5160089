// Python in the browser with this package in it: the one way to get it, for the page and for pages of other people.
//
//   const server = "http://127.0.0.1:8600/";
//   const pyodide = await startRuntime(server, json(`${server}health`), (phase, progress) => …);
//   pyodide.registerJsModule("onetake_web", { ...sound });
//   pyodide.pyimport("onetake.browser.page")

import { fetchWatched, Watch } from "./watch.mjs";

// Beside this file, whose path names the content of all of them: a visit never mixes two releases.
const PYODIDE = new URL("./vendor/pyodide/", import.meta.url).href;

/** The JSON at `url`, or an error that says what the server answered. */
export async function json(url) {
  const response = await fetch(url).catch(() => null);
  const path = new URL(url).pathname.slice(1);
  if (response === null) throw new Error(`the server does not answer (${path})`);
  if (!response.ok) throw new Error(`${path} answered with status ${response.status}`);
  return response.json();
}

function checkWasm() {
  try {
    new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  } catch (error) {
    throw new Error(`this browser, or a policy of this page, blocks WebAssembly (${error.message})`);
  }
}

async function loaded(server, asked, enter) {
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: PYODIDE, packageBaseUrl: PYODIDE });
  const health = await asked;
  enter("installing");
  const problems = [];
  await pyodide.loadPackage("micropip", {
    messageCallback: () => {},
    errorCallback: (message) => problems.push(message),
  });
  if (problems.length) throw new Error(problems.join("; "));
  const micropip = pyodide.pyimport("micropip");
  await micropip.install(new URL(health.wheel, server).href);
  micropip.destroy();
  return pyodide;
}

/**
 * Starts it. `asked` is the promise of what `GET /health` of `server` answers, an address that ends in a slash.
 * `onPhase` is called with each phase as it begins, "fetching", "starting", "installing"; while fetching also with how
 * many bytes of how many are there, `{done, all}`. Fails with what is wrong: a file, the server, the browser, or that
 * nothing moves any more.
 */
export async function startRuntime(server, asked, onPhase) {
  checkWasm();
  const watch = new Watch();
  const enter = (phase) => {
    watch.enter(phase);
    onPhase(phase, null);
  };
  enter("fetching");
  const files = fetchWatched(
    [
      [`${PYODIDE}pyodide.asm.wasm`, "application/wasm"],
      [`${PYODIDE}python_stdlib.zip`, null],
      [`${PYODIDE}pyodide.asm.mjs`, "javascript"],
      [`${PYODIDE}pyodide.mjs`, "javascript"],
    ],
    (done, all) => {
      watch.touch();
      if (done < all) onPhase("fetching", { done, all });
      else enter("starting");
    },
  );
  // Pyodide fetches the same files at the same time; the browser's cache makes that one transfer.
  const started = loaded(server, asked, enter);
  started.catch(() => {}); // what is wrong with a file is said better by `files`, which is awaited first
  try {
    await watch.limit(Promise.all([asked, files]));
    return await watch.limit(started);
  } finally {
    watch.end();
  }
}
