// Work that can wait until nobody else wants the page.

const LONGEST_MS = 2_000; // an hour of speech without a pause shall not keep it waiting for ever

/** Resolves when the page has nothing better to do. */
export const idle = () =>
  new Promise((resolve) => {
    if (globalThis.requestIdleCallback) requestIdleCallback(() => resolve(), { timeout: LONGEST_MS });
    else setTimeout(resolve, 50); // Safari has no such callback
  });
