/** The network in a worker thread: one answer per message, with the same number. */

import { Explainer } from "../explainer.js";
import { PixelReader } from "../image/pixels.js";
import { cut } from "../model/cut.js";
import { isSaliencyOutput, summarize } from "../model/onnx.js";
import { openFile } from "./files.js";
import { interleave } from "./measure.js";

const RUNTIMES = {
  wasm: { script: "ort.wasm.min.mjs", binary: "ort-wasm-simd-threaded" },
  webgpu: { script: "ort.webgpu.min.mjs", binary: "ort-wasm-simd-threaded.asyncify" },
};
const ORT = new URL("../ort/", import.meta.url);

const reader = new PixelReader();
/** @type {Explainer} */
let explainer;
/** @type {Uint8Array} */
let model;
/** @type {any} */
let ort;
/** @type {Record<string, unknown>} */
let sessionOptions;

/** @type {Record<string, (message: any) => Promise<{answer: any, transfer?: Transferable[]}>>} */
const COMMANDS = { load, explain, measure };

/** A session runs one picture at a time. */
let queue = Promise.resolve();

addEventListener("message", ({ data }) => {
  queue = queue.then(() => handle(data));
});

/** @param {any} data */
async function handle(data) {
  try {
    const { answer, transfer = [] } = await COMMANDS[data.command](data);
    postMessage({ id: data.id, answer }, { transfer });
  } catch (error) {
    postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * @param {{model: string, cache: string, controlled: boolean, backend: "wasm" | "webgpu", threads: number}} message
 *   `cache`: where files are kept, empty for nowhere; `controlled`: whether a service worker answers from there.
 */
async function load(message) {
  const { script, binary } = RUNTIMES[message.backend];
  const done = { model: 0, wasm: 0 }, sizes = { model: 0, wasm: 0 };
  const report = (/** @type {"model" | "wasm"} */ what) => (/** @type {number} */ now, /** @type {number} */ all) => {
    done[what] = now;
    sizes[what] = all;
    postMessage({ progress: (done.model + done.wasm) / (sizes.model + sizes.wasm || 1) });
  };
  const started = performance.now();
  const [network, wasm] = [new URL(`../${message.model}`, import.meta.url), new URL(`${binary}.wasm`, ORT)];
  const cache = message.cache ? await caches.open(message.cache) : null;
  const [runtime, bytes, code] = await Promise.all([
    import(new URL(script, ORT).href),
    openFile(cache, network, report("model")).then((file) => file.arrayBuffer()),
    // If onnxruntime itself fetches the kept file, the browser keeps its compiled code too.
    openFile(cache, wasm, report("wasm")).then((file) => (message.controlled ? undefined : file.arrayBuffer())),
  ]);
  [ort, model] = [runtime, new Uint8Array(bytes)];
  const fetched = performance.now();
  ort.env.wasm.wasmPaths = ORT.href;
  ort.env.wasm.wasmBinary = code;
  ort.env.wasm.numThreads = message.threads;
  ort.env.logLevel = "error";
  sessionOptions = { executionProviders: [message.backend] };
  explainer = await Explainer.open(model, ort, sessionOptions);
  ort.env.wasm.wasmBinary = undefined;
  const { metadata, outputs, quantized, hasClassMaps, classCount } = explainer;
  const timings = { fetch: fetched - started, open: performance.now() - fetched };
  return { answer: { metadata, outputs, quantized, hasClassMaps, classCount, timings, bytes: model.length } };
}

/** @param {{image: ImageBitmap, class: number | null, outputs: string[]}} message */
async function explain(message) {
  const started = performance.now();
  const pixels = reader.read(message.image);
  const read = performance.now() - started;
  const result = await explainer.explain(pixels, { class: message.class, outputs: message.outputs });
  const answer = { ...result, image: message.image, timings: { read, ...result.timings } };
  const buffers = [result.scores, ...Object.values(result.maps).map((map) => map.data)].map((data) => data.buffer);
  return { answer, transfer: [message.image, ...new Set(buffers)] };
}

/** @param {{rounds: number}} message */
async function measure(message) {
  const names = summarize(model).outputs.map(({ name }) => name).filter(isSaliencyOutput);
  const plain = await ort.InferenceSession.create(cut(model, []), sessionOptions);
  try {
    const { tensor, dims } = explainer.preprocessor;
    const image = explainer.feedOf(tensor, dims);
    const runs = [
      () => plain.run(image, explainer.answers),
      () => explainer.run(tensor, dims, null, names),
    ];
    return { answer: await interleave(runs, message.rounds, (share) => postMessage({ progress: share })) };
  } finally {
    await plain.release();
  }
}
