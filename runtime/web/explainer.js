/** One picture in, one explanation out. */

import { best, findClass, labelOf, probabilities } from "./classes.js";
import { detect } from "./detect/detections.js";
import { outputsOf } from "./detect/rows.js";
import { Preprocessor, fromHalf } from "./image/preprocess.js";
import { cut } from "./model/cut.js";
import { BOX_INPUT, CLASS_INPUT, CLASS_MAPS, isSaliencyOutput, readMetadata, summarize } from "./model/onnx.js";

/**
 * @typedef {import("./image/preprocess.js").Pixels} Pixels
 * @typedef {{data: Float32Array | Uint8Array, width: number, height: number, channels: number}} SaliencyMap
 * @typedef {{
 *   index: number | null, label: string, score: number | null, top: import("./classes.js").Prediction[],
 *   detections: import("./detect/detections.js").Detection[], scores: Float32Array, maps: Record<string, SaliencyMap>, geometry: import("./image/geometry.js").Geometry,
 *   timings: {preprocess: number, inference: number, detect?: number}, image: unknown,
 * }} Explanation
 */

const TOP = 5;
const ARGMAX = -1n;

export class Explainer {
  /**
   * @param {Uint8Array} model The bytes of a file made by `fastcam export`.
   * @param {any} ort onnxruntime-web, or another package with its interface.
   * @param {Record<string, unknown>} options Session options for onnxruntime.
   * @returns {Promise<Explainer>}
   * @throws {Error} The file is damaged or not grafted, or onnxruntime cannot run it.
   */
  static async open(model, ort, options = {}) {
    const file = summarize(model);
    const metadata = readMetadata(file);
    if (file.externalWeights) throw new Error("the file keeps its weights in another file; export it as one file");
    const names = file.outputs.map(({ name }) => name).filter(isSaliencyOutput);
    const session = await ort.InferenceSession.create(cut(model, names), options);
    return new Explainer(file, metadata, names, session, ort);
  }

  /**
   * @param {import("./model/onnx.js").Summary} file
   * @param {import("./model/onnx.js").Metadata} metadata
   * @param {string[]} names
   * @param {any} session
   * @param {any} ort
   */
  constructor(file, metadata, names, session, ort) {
    this.metadata = metadata;
    /** The names of the saliency outputs, in the file's order. */
    this.outputs = names;
    this.quantized = file.quantized;
    this.session = session;
    this.ort = ort;
    const image = file.inputs.find(({ name }) => name === metadata.image.name);
    if (!image) throw new Error(`the image input “${metadata.image.name}” is not there`);
    this.batch = image.shape[0] ?? 1;
    this.type = image.type;
    this.preprocessor = new Preprocessor(metadata, image.type, this.batch);
    this.takesClass = session.inputNames.includes(CLASS_INPUT);
    const scores = file.outputs.find(({ name }) => name === metadata.scores);
    const sizes = scores?.shape.slice(1) ?? [];
    const all = sizes.length && !sizes.includes(null) ? sizes.reduce((a, b) => Number(a) * Number(b), 1) : null;
    this.classCount = metadata.detector ? metadata.detector.classes || null : all;
    /** The network's own outputs that an answer needs: its scores, and a detector's boxes. */
    this.answers = [...new Set([metadata.scores, ...metadata.detector ? outputsOf(metadata.detector) : []])];
  }

  get labels() {
    return this.metadata.labels;
  }

  /** Whether a class can be chosen. */
  get hasClassMaps() {
    return this.takesClass && this.outputs.some((name) => CLASS_MAPS.includes(name));
  }

  /**
   * The index of the class that a label, a unique part of a label, or an index names.
   * @param {string | number} choice
   */
  classIndex(choice) {
    if (!this.hasClassMaps) throw new Error("no class can be chosen: the file has no class maps");
    return findClass(choice, this.labels, this.classCount ?? (this.labels.length || null));
  }

  /**
   * The name in the file of a map: `saliency_cam`, or its short form `cam`.
   * @param {string} name
   */
  outputName(name) {
    const found = this.outputs.find((known) => known === name || known === `saliency_${name}`);
    if (!found) throw new Error(`no map “${name}”; there are: ${this.outputs.join(", ") || "none"}`);
    return found;
  }

  /**
   * @param {Pixels} picture RGBA.
   * @param {{
   *   class?: string | number | null, outputs?: string[], threshold?: {score?: number, iou?: number},
   * }} options `class`: the class to explain, by default the best one; `outputs`: maps to read back, as `saliency_cam` or
   *   `cam`, by default all of the file; `threshold`: which detections of a detector to keep.
   * @returns {Promise<Explanation>}
   */
  async explain(picture, options = {}) {
    const started = performance.now();
    const chosen = options.class === undefined || options.class === null ? null : this.classIndex(options.class);
    const wanted = options.outputs?.map((name) => this.outputName(name)) ?? this.outputs;
    const { tensor, dims, geometry } = this.preprocessor.run(picture);
    const prepared = performance.now();
    const results = await this.run(tensor, dims, chosen, wanted);
    const finished = performance.now();
    const scores = numbers(results[this.metadata.scores]);
    const said = this.metadata.detector
      ? this.boxesIn(results, chosen, geometry, options.threshold) : this.classesIn(scores, chosen);
    /** @type {Explanation["timings"]} */
    const timings = { preprocess: prepared - started, inference: finished - prepared };
    if (this.metadata.detector) timings.detect = performance.now() - finished;
    return {
      ...said,
      label: said.index === null ? "" : labelOf(said.index, this.labels),
      scores,
      maps: Object.fromEntries(wanted.map((name) => [name, mapOf(results[name])])),
      geometry,
      timings,
      image: picture,
    };
  }

  /**
   * What a classifier says.
   * @param {Float32Array} scores
   * @param {number | null} chosen
   */
  classesIn(scores, chosen) {
    const shares = scores.length === (this.classCount ?? scores.length) * this.batch
      ? probabilities(scores.subarray(0, scores.length / this.batch), this.metadata.scores_are) : null;
    const top = shares ? best(shares, this.labels, TOP) : [];
    const index = chosen ?? top[0]?.index ?? null;
    return { index, score: index === null || !shares ? null : shares[index], top, detections: [] };
  }

  /**
   * What a detector finds: its boxes, and the best one, of the chosen class if there is one.
   * @param {Record<string, any>} results
   * @param {number | null} chosen
   * @param {import("./image/geometry.js").Geometry} geometry
   * @param {{score?: number, iou?: number}} [threshold]
   */
  boxesIn(results, chosen, geometry, threshold) {
    const head = /** @type {import("./detect/rows.js").Head} */ (this.metadata.detector);
    const outputs = Object.fromEntries(outputsOf(head).map((name) => [name, firstOf(results[name])]));
    const detections = detect(head, outputs, geometry, this.labels, threshold);
    const found = detections.find(({ index }) => chosen === null || index === chosen);
    return { index: found?.index ?? chosen, score: found?.score ?? null, top: [], detections };
  }

  /**
   * @param {import("./image/preprocess.js").Elements} tensor
   * @param {number[]} dims
   * @param {number | null} chosen
   * @param {string[]} wanted
   */
  async run(tensor, dims, chosen, wanted) {
    const feeds = { ...this.feedOf(tensor, dims), ...this.companions() };
    if (this.takesClass) {
      const classes = new BigInt64Array(this.batch).fill(chosen === null ? ARGMAX : BigInt(chosen));
      feeds[CLASS_INPUT] = new this.ort.Tensor("int64", classes, [this.batch]);
    }
    if (this.session.inputNames.includes(BOX_INPUT)) {
      feeds[BOX_INPUT] = new this.ort.Tensor("int64", new BigInt64Array(this.batch).fill(ARGMAX), [this.batch]);
    }
    return this.session.run(feeds, [...this.answers, ...wanted]);
  }

  /**
   * The picture as onnxruntime takes it.
   * @param {import("./image/preprocess.js").Elements} tensor
   * @param {number[]} dims
   * @returns {Record<string, any>}
   */
  feedOf(tensor, dims) {
    // onnxruntime needs this type of array if the browser has it.
    const data = this.type === "float16" && "Float16Array" in globalThis
      ? new /** @type {any} */ (globalThis).Float16Array(tensor.buffer) : tensor;
    return { [this.metadata.image.name]: new this.ort.Tensor(this.type, data, dims) };
  }

  /**
   * Inputs that only tell a detector how large the picture was; as `companions` of `fastcam_runtime.model.feeds`.
   * @returns {Record<string, any>}
   */
  companions() {
    const { height, width } = this.metadata.image;
    /** @type {Record<string, [string, number, number]>} */
    const known = {
      orig_target_sizes: ["int64", width, height], im_shape: ["float32", height, width], scale_factor: ["float32", 1, 1],
    };
    /** @type {Record<string, any>} */
    const feeds = {};
    for (const name of this.session.inputNames) {
      if (!Object.hasOwn(known, name)) continue;
      const [type, ...pair] = known[name], values = Array.from({ length: 2 * this.batch }, (_, i) => pair[i % 2]);
      const data = type === "int64" ? BigInt64Array.from(values, BigInt) : Float32Array.from(values);
      feeds[name] = new this.ort.Tensor(type, data, [this.batch, 2]);
    }
    return feeds;
  }

  /** Release the session's memory. */
  async release() {
    await this.session.release();
  }
}

/**
 * The values of a tensor as float32.
 * @param {any} tensor
 * @returns {Float32Array}
 */
function numbers(tensor) {
  if (tensor.data instanceof Float32Array) return tensor.data;
  if (tensor.data instanceof Uint16Array) return Float32Array.from(tensor.data, fromHalf);
  return Float32Array.from(tensor.data, Number);
}

/**
 * A detector's output for the first picture in a batch. Some have no batch: at most two dimensions.
 * @param {any} tensor
 * @returns {import("./detect/rows.js").Values}
 */
function firstOf(tensor) {
  const data = numbers(tensor), dims = tensor.dims.length <= 2 ? tensor.dims : tensor.dims.slice(1);
  return { data: data.subarray(0, dims.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1)), dims };
}

/**
 * The map of the first picture in a batch.
 * @param {any} tensor
 * @returns {SaliencyMap}
 */
function mapOf(tensor) {
  const [, height, width, channels = 1] = tensor.dims;
  const data = tensor.data instanceof Uint8Array ? tensor.data : numbers(tensor);
  return { data: data.subarray(0, height * width * channels), width, height, channels };
}
