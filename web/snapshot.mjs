// Python's memory as it was once it had started, kept for the next visit, which then need not start it.
//
//   const found = await find(address)        what is kept for that address, or null
//   const memory = await read(found)
//   trust(address)                           Python woke with it
//   const memory = take(pyodide)             as long as Python holds no JS object; null if snapshots are off
//   await keep(server, address, memory)      instead of what was kept before, which `forget(server)` forgets
//
// Pyodide does this under private names (pyodide.md 36), so it may only ever be a shortcut: whatever goes wrong is
// told in `woken.snapshot_failures`, and Python starts as on the first visit. `localStorage.onetakeSnapshot = "off"`
// turns it off.

/** How Python woke in this page: part of what `inspect()` returns. */
export const woken = { from_snapshot: false, snapshot_failures: [] };

// Not compressed: 31 MB are read in 60 ms, but 6 MB of gzip are unpacked in 200 ms.
const CACHE = "onetake-snapshot";

// In localStorage: the address of what is kept, or "off". To ask the cache takes 100 ms if nothing is kept.
const SWITCH = "onetakeSnapshot";

const isOff = () => localStorage.getItem(SWITCH) === "off";

/** What `attempt()` returns; null if it fails, and then `woken` tells that, and what was being done. */
export async function attempted(doing, attempt) {
  try {
    return await attempt();
  } catch (error) {
    woken.snapshot_failures.push(`${doing}: ${error.message ?? error}`);
    return null;
  }
}

/** The address that names all a snapshot depends on: the runtime's files and the package's wheel, by their content. */
export const addressOf = (runtime, wheel) => `${wheel}?runtime=${encodeURIComponent(runtime)}`;

/**
 * What is kept for the address that `asked` promises, or null; where nothing is kept the promise is not waited for. Once
 * found it is not found again before it is trusted: one that takes the page down does so once.
 */
export async function find(asked) {
  const address = localStorage.getItem(SWITCH);
  if (address === null || isOff() || address !== (await asked)) return null;
  localStorage.removeItem(SWITCH);
  const cache = await caches.open(CACHE);
  return (await cache.match(address)) ?? null;
}

/** Lets what is kept for that address be found by the next visit. */
export function trust(address) {
  if (!isOff()) localStorage.setItem(SWITCH, address);
}

/** The memory in what `find` found. Fails if it is not what was kept. */
export async function read(found) {
  const memory = await found.arrayBuffer();
  if ((await digest(memory)) !== found.headers.get("sha-256")) throw new Error("the snapshot is damaged");
  return memory;
}

async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Python's memory as it is now; null if snapshots are off. Fails if Python holds a JS object. */
export function take(pyodide) {
  if (isOff()) return null;
  const { config } = pyodide._api;
  config._makeSnapshot = true; // from the start on it would put a Proxy before everything Python sees of the browser
  try {
    return pyodide.makeMemorySnapshot();
  } finally {
    config._makeSnapshot = false;
  }
}

/** Forgets what is kept for that server. */
export async function forget(server) {
  const cache = await caches.open(CACHE);
  for (const request of await cache.keys()) if (request.url.startsWith(server)) await cache.delete(request);
}

/** Keeps `memory` under `address`, and nothing that was kept before for the same server. */
export async function keep(server, address, memory) {
  await forget(server);
  const cache = await caches.open(CACHE);
  await cache.put(address, new Response(memory, { headers: { "sha-256": await digest(memory) } }));
  trust(address);
}
