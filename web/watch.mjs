// Tells slow from stuck. `loadPyodide` never settles when the Wasm cannot be instantiated (pyodide.md 30), and a
// download may hang: the boot is given up when nothing has moved for a while, however long the whole takes.

/** Watches a boot: `onPhase` is told each phase as it begins. Nothing may stand still for longer than `stuck_ms`. */
export class Watch {
  #moved = performance.now();
  #phase = "";
  #onPhase;
  #timer;
  #stuck;

  constructor(onPhase, stuck_ms) {
    this.#onPhase = onPhase;
    this.#stuck = new Promise((_, reject) => {
      this.#timer = setInterval(() => {
        if (performance.now() - this.#moved < stuck_ms) return;
        this.end();
        const error = new Error(`${this.#phase} has not moved for ${stuck_ms / 1000} seconds`);
        reject(Object.assign(error, { stuck: this.#phase }));
      }, 250);
    });
    this.#stuck.catch(() => {}); // whoever is in `limit` hears it
  }

  /** A new phase begins. */
  enter(phase) {
    this.touch();
    this.#phase = phase;
    this.#onPhase(phase, null);
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
 * Looks at what else is fetching files, `[url, media type or null]` pairs, by fetching them, too: the browser makes that
 * one transfer. Of what it has already it only takes the head. Tells how many bytes of how many have been sent: of what
 * is compressed, the compressed ones; of 0 if nobody tells how many there will be. Ends when all is there. Fails with the
 * file and the reason: missing, of a type the browser will not take, or cut short.
 */
export async function fetchWatched(files, onProgress) {
  let done = 0;
  let all = 0;
  const responses = await Promise.all(
    files.map(async ([url, type]) => {
      const name = url.slice(url.lastIndexOf("/") + 1);
      const isThere = performance.getEntriesByName(url).length > 0;
      const response = await fetch(url).catch(() => null);
      if (response === null) throw new Error(`${name} could not be fetched: the server does not answer`);
      if (!response.ok) throw new Error(`${name} could not be fetched: status ${response.status}`);
      const sent = response.headers.get("content-type") ?? "none";
      if (type && !sent.includes(type)) throw new Error(`${name} came as “${sent}”, but must be ${type}`);
      const plain = Number(response.headers.get("x-uncompressed-length"));
      const length = Number(response.headers.get("content-length") ?? plain); // a proxy may have packed it anew
      all += length;
      if (!isThere) return [name, response.body.getReader(), plain ? length / plain : 1];
      done += length;
      void response.body.cancel();
      return null;
    }),
  );
  await Promise.all(
    responses.filter(Boolean).map(async ([name, reader, share]) => {
      try {
        for (;;) {
          const chunk = await reader.read();
          if (chunk.done) return;
          done += share * chunk.value.length;
          onProgress(Math.min(done, all), all);
        }
      } catch {
        throw new Error(`${name} was cut short: the connection was lost`);
      }
    }),
  );
}
