/**
 * The service worker: it serves the site from its cache, offline after the first visit, with the headers that threads
 * need and that many static servers do not send.
 *
 * It is registered as `sw.js?VERSION`; each version of the site has its own cache, `fastcam-VERSION`.
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
  event.respondWith(answer(event, url));
});

/** The page sends this message after the network has started, so that caching does not slow down the first visit. */
self.addEventListener("message", (event) => {
  if (event.data === "keep everything") event.waitUntil(keepAll().then((count) => event.source?.postMessage({ kept: count })));
});

async function install() {
  const cache = await caches.open(NAME);
  const site = await (await fetch(SITE, { cache: "no-cache" })).json();
  await Promise.all(site.shell.map(async (file) => cache.put(file, isolated(await get(file, { cache: "no-cache" })))));
  await self.skipWaiting();
}

async function activate() {
  for (const name of await caches.keys()) {
    if (name.startsWith("fastcam-") && name !== NAME) await caches.delete(name);
  }
  await self.clients.claim();
}

/** Every file that the page can need. Those that were fetched compressed are kept unpacked: the next start is quicker. */
async function keepAll() {
  const cache = await caches.open(NAME);
  const { offline, packed } = await (await cache.match(SITE)).json();
  for (const file of offline) {
    if (await cache.match(file)) continue;
    if (packed.includes(file)) await keepUnpacked(cache, file);
    else await cache.put(file, isolated(await get(file)));
  }
  return offline.length;
}

/**
 * @param {Cache} cache
 * @param {string} file
 */
async function keepUnpacked(cache, file) {
  const name = `${file}.gz`, bytes = await (await cache.match(name) ?? await get(name)).arrayBuffer();
  const [first, second] = new Uint8Array(bytes, 0, 2);
  const body = new Blob([bytes]).stream();
  // Some servers send such a file unpacked.
  const plain = first === 0x1f && second === 0x8b ? body.pipeThrough(new DecompressionStream("gzip")) : body;
  const type = file.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  await cache.put(file, new Response(plain, { headers: { "Content-Type": type } }));
  await cache.delete(name);
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
  // Always from the server: it may have a newer site.
  if (url.pathname.endsWith(`/${SITE}`)) {
    return fetch(request).catch(async () => (await cache.match(SITE)) ?? Response.error());
  }
  const key = url.pathname.endsWith("/") ? "index.html" : request;
  const kept = await cache.match(key, { ignoreSearch: true });
  // As it was kept: browsers keep the compiled code of a script or a WebAssembly file beside it.
  if (kept) return kept;
  const found = await fetch(request);
  if (found.status !== 200) return found;
  // Not awaited: the page reads the response meanwhile.
  event.waitUntil(cache.put(request, isolated(found.clone())));
  return isolated(found);
}

/** @param {Response} found */
function isolated(found) {
  const headers = new Headers(found.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}
