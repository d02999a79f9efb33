/**
 * The service worker: it serves the site from its cache, offline after the first visit, with the headers that threads
 * need and that many static servers do not send.
 *
 * It is registered as `sw.js?VERSION`; each version of the site has its own cache.
 */

const NAME = `fastcam-${location.search.slice(1)}`;
const SITE = "site.json";

self.addEventListener("install", (event) => {
  event.waitUntil(install());
});

self.addEventListener("activate", (event) => {
  event.waitUntil(activate());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  event.respondWith(answer(event, url).then(isolate));
});

/** The page sends this message after the network has started, so that caching does not slow down the first visit. */
self.addEventListener("message", (event) => {
  if (event.data === "keep everything") event.waitUntil(keepAll().then((count) => event.source?.postMessage({ kept: count })));
});

async function install() {
  const cache = await caches.open(NAME);
  const site = await (await fetch(SITE, { cache: "no-cache" })).json();
  await cache.addAll(site.shell.map((file) => new Request(file, { cache: "no-cache" })));
  await self.skipWaiting();
}

async function activate() {
  for (const name of await caches.keys()) {
    if (name.startsWith("fastcam-") && name !== NAME) await caches.delete(name);
  }
  await self.clients.claim();
}

/** Every file that the page can need, compressed if there is such a file. */
async function keepAll() {
  const cache = await caches.open(NAME);
  const { offline } = await (await cache.match(SITE)).json();
  for (const file of offline) if (!await cache.match(file)) await cache.add(file);
  return offline.length;
}

async function answer(event, url) {
  const { request } = event;
  const cache = await caches.open(NAME);
  // Always from the server: it may have a newer site.
  if (url.pathname.endsWith(`/${SITE}`)) {
    return fetch(request).catch(async () => (await cache.match(SITE)) ?? Response.error());
  }
  const key = url.pathname.endsWith("/") ? "index.html" : request;
  const kept = await cache.match(key, { ignoreSearch: true });
  if (kept) return kept;
  const found = await fetch(request);
  // Not awaited: the page reads the response meanwhile.
  if (found.status === 200) event.waitUntil(cache.put(request, found.clone()));
  return found;
}

function isolate(found) {
  if (found.status === 0) return found;
  const headers = new Headers(found.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}
