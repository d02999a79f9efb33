/** The site around the page: its list of files, its service worker, and whether the page may use threads. */

/**
 * @typedef {{
 *   version: string, model: string, file: string, shell: string[], clip: string[], webgpu: boolean,
 * }} Site The content of site.json, which `fastcam web` writes. `file`: the model's original name.
 */

const RELOADED = "fastcam-reloaded";
const PATIENCE_MS = 4000;

/** @returns {Promise<Site>} */
export async function readSite() {
  const answer = await fetch("site.json");
  if (!answer.ok) throw new Error(`site.json could not be loaded: ${answer.status}`);
  return answer.json();
}

/**
 * Start the service worker, and reload the page once if the worker adds the headers that threads need.
 * Without a service worker the page works too, with one thread and not offline.
 * @param {string} version
 */
export async function startServiceWorker(version) {
  const { serviceWorker } = navigator;
  const script = `sw.js?${version}`;
  // Registering it again would wait for a server that may not answer.
  if (!serviceWorker || serviceWorker.controller?.scriptURL.endsWith(script)) return;
  try {
    await serviceWorker.register(script);
  } catch {
    return;
  }
  if (!serviceWorker.controller) {
    await new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", resolve, { once: true });
      setTimeout(resolve, PATIENCE_MS);
    });
  }
  if (serviceWorker.controller && !globalThis.crossOriginIsolated && !sessionStorage.getItem(RELOADED)) {
    sessionStorage.setItem(RELOADED, "yes");
    location.reload();
    await new Promise(() => {});
  }
}

/** Let the service worker cache the remaining files, for offline use. */
export function keepEverything() {
  navigator.serviceWorker?.controller?.postMessage("keep everything");
}
