/** The worker that runs the network, with a promise per request. */

/**
 * @typedef {{
 *   metadata: import("../model/onnx.js").Metadata, outputs: string[], quantized: boolean, hasClassMaps: boolean,
 *   classCount: number | null, timings: {fetch: number, open: number}, bytes: number,
 * }} Loaded
 * @typedef {Omit<import("../explainer.js").Explanation, "image"> & {
 *   image: ImageBitmap, timings: {read: number, preprocess: number, inference: number, detect?: number},
 * }} Answer
 */

export class Engine {
  /** @param {"wasm" | "webgpu"} backend */
  constructor(backend) {
    this.backend = backend;
    this.threads = backend === "wasm" ? threadCount() : 1;
    this.worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.count = 0;
    /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
    this.waiting = new Map();
    /** @type {Error | null} */
    this.failure = null;
    this.onProgress = (/** @type {number} */ _share) => {};
    this.worker.addEventListener("message", ({ data }) => this.receive(data));
    this.worker.addEventListener("error", (event) => this.fail(new Error(event.message || "the worker did not start")));
  }

  /**
   * @param {import("./site.js").Site} site
   * @returns {Promise<Loaded>}
   */
  async load({ model, version }) {
    const { serviceWorker } = navigator, { backend, threads } = this, controlled = Boolean(serviceWorker?.controller);
    const cache = await serviceWorker?.getRegistration() ? `fastcam-${new URL("./", location.href).pathname}:${version}` : "";
    return this.ask({ command: "load", model, cache, controlled, backend, threads });
  }

  /**
   * @param {ImageBitmap} image Transferred to the worker; the answer returns it.
   * @param {number | null} chosen
   * @param {string[]} outputs
   * @returns {Promise<Answer>}
   */
  explain(image, chosen, outputs) {
    return this.ask({ command: "explain", image, class: chosen, outputs }, [image]);
  }

  /**
   * @param {number} rounds
   * @returns {Promise<import("./measure.js").Samples>}
   */
  measure(rounds) {
    return this.ask({ command: "measure", rounds });
  }

  close() {
    this.worker.terminate();
    this.fail(new Error("closed"));
  }

  /** "wasm, 4 threads" */
  get name() {
    return this.backend === "webgpu" ? "WebGPU" : `wasm, ${this.threads} thread${this.threads === 1 ? "" : "s"}`;
  }

  /**
   * @param {Record<string, unknown>} message
   * @param {Transferable[]} transfer
   * @returns {Promise<any>}
   */
  ask(message, transfer = []) {
    if (this.failure) return Promise.reject(this.failure);
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ ...message, id }, transfer);
    });
  }

  /** @param {{id?: number, answer?: unknown, error?: string, progress?: number}} data */
  receive(data) {
    if (data.progress !== undefined) return this.onProgress(data.progress);
    const waiting = this.waiting.get(data.id ?? 0);
    this.waiting.delete(data.id ?? 0);
    if (data.error === undefined) waiting?.resolve(data.answer);
    else waiting?.reject(new Error(data.error));
  }

  /** @param {Error} error */
  fail(error) {
    this.failure = error;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/** Threads need shared memory, which browsers allow only on cross-origin isolated pages. */
function threadCount() {
  if (!globalThis.crossOriginIsolated) return 1;
  return Math.max(1, Math.min(4, Math.ceil((navigator.hardwareConcurrency || 1) / 2)));
}
