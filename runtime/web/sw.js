/**
 * The service worker: it serves the site from its cache, offline after the first visit, with the headers that threads
 * need and that many static servers do not send.
 *
 * It is registered as `sw.js?VERSION`; each version of the site has its own cache, `fastcam-FOLDER:VERSION`.
 */

const OURS = `fastcam-${new URL("./", location.href).pathname}:`, NAME = OURS + location.search.slice(1);
const SITE = "site.json";
const PATIENCE_MS = 3000;

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
  event.respondWith(answer(event, url));
});

/** The page sends this message after the network has started, so that caching does not slow down the first visit. */
self.addEventListener("message", (event) => {
  if (event.data === "keep everything") event.waitUntil(keepClip());
});

async function install() {
  const cache = await caches.open(NAME);
  const site = await (await fetch(SITE, { cache: "no-cache" })).json();
  await Promise.all(site.shell.map(async (file) => cache.put(file, isolated(await get(file, { cache: "no-cache" })))));
  await self.skipWaiting();
}

async function activate() {
  for (const name of await caches.keys()) {
    if (name.startsWith(OURS) && name !== NAME) await caches.delete(name);
  }
  await self.clients.claim();
}

/** The page itself keeps the large files. */
async function keepClip() {
  const cache = await caches.open(NAME);
  const { clip } = await (await cache.match(SITE)).json();
  for (const file of clip) if (!await cache.match(file)) await cache.put(file, isolated(await get(file)));
}

/**
 * @param {string} file
 * @param {RequestInit} [options]
 */
async function get(file, options) {
  const found = await fetch(file, options);
  if (!found.ok) throw new Error(`${file}: ${found.status}`);
  return found;
}

async function answer(event, url) {
  const { request } = event;
  const cache = await caches.open(NAME);
  if (url.pathname.endsWith(`/${SITE}`)) return newest(request, await cache.match(SITE));
  const key = url.pathname.endsWith("/") ? "index.html" : request;
  const kept = await cache.match(key, { ignoreSearch: true });
  // As it was kept: browsers keep the compiled code of a script or a WebAssembly file beside it.
  if (kept) return kept;
  const found = await fetch(request);
  if (found.status !== 200 || url.pathname.endsWith(".gz")) return found;
  // Not awaited: the page reads the response meanwhile.
  event.waitUntil(cache.put(request, isolated(found.clone())));
  return isolated(found);
}

/**
 * From the server, which may have a newer site, unless it does not answer soon: the phone may be in another network.
 * @param {Request} request
 * @param {Response | undefined} kept
 */
async function newest(request, kept) {
  if (!kept) return fetch(request);
  const signal = AbortSignal.timeout?.(PATIENCE_MS);
  return fetch(request, { signal }).then((found) => (found.ok ? found : kept), () => kept);
}

/** @param {Response} found */
function isolated(found) {
  const headers = new Headers(found.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}
