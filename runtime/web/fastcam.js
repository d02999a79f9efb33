/**
 * Run ONNX files with saliency maps inside, made by `fastcam export`, in a browser, a worker or node.
 *
 *     import { load, draw } from "./fastcam.js";
 *     const model = await load("model.onnx");
 *     const result = await model.explain(await createImageBitmap(photo));
 *     draw(document.querySelector("canvas"), result);
 *
 * Labels, preprocessing and outputs are read from the file.
 */

import { Painter } from "./draw/views.js";
import { Explainer } from "./explainer.js";
import { PixelReader } from "./image/pixels.js";

export { candidates, probabilities } from "./classes.js";
export { THRESHOLD, detect } from "./detect/detections.js";
export { INFERNO } from "./draw/colormap.js";
export { SmoothLimits, limitsOf } from "./draw/contrast.js";
export { overlay } from "./draw/overlay.js";
export { VIEWS, availableViews, outputOf } from "./draw/views.js";
export { cut } from "./model/cut.js";
export { readMetadata, summarize } from "./model/onnx.js";

const painter = new Painter();

/**
 * A model that is ready for pictures.
 * @param {string | URL | ArrayBuffer | Uint8Array} source The file's address, in node also its path, or its bytes.
 * @param {{ort?: any, session?: Record<string, unknown>}} options `ort`: onnxruntime-web, by default the copy
 *   that `fastcam web` puts beside this file; `session`: options for its session.
 */
export async function load(source, options = {}) {
  const ort = options.ort ?? await siteRuntime();
  const explainer = await Explainer.open(await bytesOf(source), ort, options.session);
  return new Model(explainer);
}

/** A loaded model. It takes one picture at a time: wait for the result before the next call. */
export class Model {
  /** @param {Explainer} explainer */
  constructor(explainer) {
    this.explainer = explainer;
    this.metadata = explainer.metadata;
    this.labels = explainer.labels;
    this.outputs = explainer.outputs;
    this.reader = new PixelReader();
  }

  /**
   * @param {any} image An ImageBitmap, canvas, video or image element, or `{data, width, height}` in RGBA.
   * @param {{
   *   class?: string | number | null, outputs?: string[], threshold?: {score?: number, iou?: number},
   * }} options
   */
  async explain(image, options = {}) {
    const result = await this.explainer.explain(this.reader.read(image), options);
    return { ...result, image };
  }

  async release() {
    await this.explainer.release();
  }
}

/**
 * Draw an explanation over its picture, at the picture's own size.
 * @param {HTMLCanvasElement | OffscreenCanvas} canvas
 * @param {import("./explainer.js").Explanation} result
 * @param {{view?: string, limits?: import("./draw/contrast.js").Limits}} options
 */
export function draw(canvas, result, options = {}) {
  const image = /** @type {any} */ (result.image);
  let drawable = image;
  if (image && "data" in image) {
    const pixels = new ImageData(new Uint8ClampedArray(image.data), image.width, image.height);
    drawable = new OffscreenCanvas(image.width, image.height);
    drawable.getContext("2d").putImageData(pixels, 0, 0);
  }
  painter.draw(canvas, result, drawable, options.view, options.limits ?? null);
}

async function siteRuntime() {
  const folder = new URL(/* @vite-ignore */ "./ort/", import.meta.url).href;
  const ort = await import(/* @vite-ignore */ /* webpackIgnore: true */ `${folder}ort.wasm.min.mjs`).catch(() => {
    throw new Error(`no onnxruntime in ${folder}; give it: load(source, { ort }) with ort from "onnxruntime-web"`);
  });
  ort.env.wasm.wasmPaths = folder;
  return ort;
}

/** @param {string | URL | ArrayBuffer | Uint8Array} source */
async function bytesOf(source) {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const isPath = typeof source === "string" && !/^[a-z][a-z0-9+.-]+:/i.test(source);
  const process = /** @type {any} */ (globalThis).process;
  if (process?.versions?.node && (isPath || new URL(source).protocol === "file:")) {
    return new Uint8Array(await process.getBuiltinModule("node:fs/promises").readFile(source));
  }
  const answer = await fetch(source);
  if (!answer.ok) throw new Error(`${source}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}
