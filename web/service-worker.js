// Keeps the files of the page where the browser does not throw them away for want of room, as it does with its cache.
//
// The server writes into FILES what its index.html names, so a new release is a new service worker. Each path names its
// content: one cache holds any number of releases without mixing them. Nothing else is answered from here: what the
// page is always comes from the server, and so do replies and speech.

const FILES = [];

const CACHE = "onetake-files";
const ours = new Set(FILES.map((path) => new URL(path, self.registration.scope).href));

async function fill() {
  const cache = await caches.open(CACHE);
  const there = new Set((await cache.keys()).map(({ url }) => url));
  await cache.addAll([...ours].filter((url) => !there.has(url))); // the browser has just fetched them, and does not again
}

async function clean() {
  const cache = await caches.open(CACHE);
  for (const request of await cache.keys()) if (!ours.has(request.url)) await cache.delete(request);
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request.url)) ?? fetch(request);
}

self.addEventListener("install", (event) => {
  // Where this is known no request waits until the worker is up (Chromium).
  const below = (path) => ({ urlPattern: new URL(path, self.registration.scope).href });
  event.addRoutes?.([
    { condition: { or: [below("web/*"), below("wheels/*")] }, source: { cacheName: CACHE } },
    { condition: below("*"), source: "network" },
  ]);
  self.skipWaiting(); // a page of the release before has all its files already
  event.waitUntil(fill());
});

self.addEventListener("activate", (event) => event.waitUntil(clean()));

self.addEventListener("fetch", (event) => {
  if (ours.has(event.request.url)) event.respondWith(answer(event.request));
});
