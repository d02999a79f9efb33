/** The site around the page: its list of files, its service worker, and whether the page may use threads. */

/**
 * @typedef {{
 *   version: string, model: string, file: string, shell: string[], offline: string[], clip: string[], webgpu: boolean,
 * }} Site What `fastcam web` writes into site.json. `file`: the model's own name.
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
 * Start the service worker, and reload the page once if it brings the headers that threads need.
 * Without a service worker the page works too: one thread, and a network each time.
 * @param {string} version
 */
export async function startServiceWorker(version) {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  try {
    await serviceWorker.register(`sw.js?${version}`);
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

/** Have the service worker keep what was not needed yet, for a visit without a network. */
export function keepEverything() {
  navigator.serviceWorker?.controller?.postMessage("keep everything");
}
