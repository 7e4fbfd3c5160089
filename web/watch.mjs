// Tells slow from stuck. `loadPyodide` never settles when the Wasm cannot be instantiated (pyodide.md 30), and a
// download may hang: the boot is given up when nothing has moved for a while, however long the whole takes.

const STUCK_MS = 25_000;

export class Watch {
  #moved = performance.now();
  #phase = "";
  #timer;
  #stuck;

  constructor() {
    this.#stuck = new Promise((_, reject) => {
      this.#timer = setInterval(() => {
        if (performance.now() - this.#moved < STUCK_MS) return;
        this.end();
        const error = new Error(`${this.#phase} has not moved for ${STUCK_MS / 1000} seconds`);
        reject(Object.assign(error, { stuck: this.#phase }));
      }, 250);
    });
    this.#stuck.catch(() => {}); // whoever is in `limit` hears it
  }

  /** A new phase begins. */
  enter(phase) {
    this.touch();
    this.#phase = phase;
  }

  /** Something moved. */
  touch() {
    this.#moved = performance.now();
  }

  /** `promise`, or an error as soon as nothing moves any more; its `stuck` is the phase. */
  limit(promise) {
    return Promise.race([promise, this.#stuck]);
  }

  end() {
    clearInterval(this.#timer);
  }
}

/**
 * Fetches `[url, media type or null]` pairs to the end, telling how many bytes of how many are there. Fails with
 * the file and the reason: missing, of a type the browser will not take, or cut short.
 */
export async function fetchWatched(files, onProgress) {
  let done = 0;
  let all = 0;
  const responses = await Promise.all(
    files.map(async ([url, type]) => {
      const name = url.slice(url.lastIndexOf("/") + 1);
      const response = await fetch(url).catch(() => null);
      if (response === null) throw new Error(`${name} could not be fetched: the server does not answer`);
      if (!response.ok) throw new Error(`${name} could not be fetched: status ${response.status}`);
      const sent = response.headers.get("content-type") ?? "none";
      if (type && !sent.includes(type)) throw new Error(`${name} came as “${sent}”, but must be ${type}`);
      all += Number(response.headers.get("content-length") ?? 0);
      return [name, response];
    }),
  );
  await Promise.all(
    responses.map(async ([name, response]) => {
      try {
        for (const reader = response.body.getReader(); ; ) {
          const chunk = await reader.read();
          if (chunk.done) return;
          done += chunk.value.length;
          onProgress(Math.min(done, all - 1), all);
        }
      } catch {
        throw new Error(`${name} was cut short: the connection was lost`);
      }
    }),
  );
  onProgress(all, all);
}
