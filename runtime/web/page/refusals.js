/** One sentence for each thing that this browser cannot do. */

// (module (func (result v128) i32.const 0 i8x16.splat i8x16.popcnt))
const SIMD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

/** Why the network cannot run in this browser; empty if it can. */
export function whyNot() {
  if (typeof WebAssembly === "undefined") return "This browser has no WebAssembly, so the network cannot run here.";
  if (!WebAssembly.validate(SIMD)) {
    return "This browser has no WebAssembly SIMD. Chrome 91, Firefox 89 and Safari 16.4 have it, and later ones.";
  }
  if (typeof OffscreenCanvas === "undefined") return "This browser is too old: it has no OffscreenCanvas. Safari 16.4 has it.";
  return "";
}

/** Why there is no camera, before it is requested; empty if there may be one. */
export function whyNoCamera() {
  if (navigator.mediaDevices) return "";
  return isSecureContext
    ? "This browser does not allow camera access. Take a photo instead."
    : "Browsers allow camera access only on https pages. Open this page by https or on localhost, or take a photo instead.";
}

export const CAMERA_LOST = "The camera has stopped: it was unplugged, or another program uses it. Choose New picture to start it again.";

/**
 * The explanation for a camera that did not start.
 * @param {unknown} error
 */
export function cameraError(error) {
  const { name, message } = /** @type {DOMException} */ (error);
  if (name === "NotAllowedError") {
    return "Camera access was denied. Allow it in the browser's settings for this page, or take a photo instead.";
  }
  if (name === "NotFoundError" || name === "OverconstrainedError") return "This device has no camera. Choose a photo instead.";
  if (name === "NotReadableError") return "Another program uses the camera. Close it and try again.";
  return `The camera did not start: ${message}`;
}

/**
 * The explanation for a model that did not load.
 * @param {unknown} error
 */
export function loadError(error) {
  const { message } = /** @type {Error} */ (error);
  if (/out of memory|allocat|bad_alloc|RangeError|memory access/i.test(message)) {
    return `The model is too large for this browser's memory: ${message}`;
  }
  if (/fetch|NetworkError|Load failed/i.test(message)) return "The site's files could not be loaded: no connection, and no copy from an earlier visit.";
  return `The model did not load: ${message}`;
}
