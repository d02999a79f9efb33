/** One picture in, one explanation out. */

import { best, findClass, probabilities } from "./classes.js";
import { Preprocessor, fromHalf } from "./image/preprocess.js";
import { cut } from "./model/cut.js";
import { BOX_INPUT, CLASS_INPUT, CLASS_MAPS, isSaliencyOutput, readMetadata, summarize } from "./model/onnx.js";

/**
 * @typedef {import("./image/preprocess.js").Pixels} Pixels
 * @typedef {{data: Float32Array | Uint8Array, width: number, height: number, channels: number}} SaliencyMap
 * @typedef {{
 *   index: number | null, label: string, score: number | null, top: import("./classes.js").Prediction[],
 *   scores: Float32Array, maps: Record<string, SaliencyMap>, geometry: import("./image/geometry.js").Geometry,
 *   timings: {preprocess: number, inference: number}, image: unknown,
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
    this.classCount = sizes.length && !sizes.includes(null) ? sizes.reduce((a, b) => Number(a) * Number(b), 1) : null;
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
   * @param {Pixels} picture RGBA.
   * @param {{class?: string | number | null, outputs?: string[]}} options `class`: the class to explain, by
   *   default the best one; `outputs`: names of maps to read back, by default all of the file.
   * @returns {Promise<Explanation>}
   */
  async explain(picture, options = {}) {
    const started = performance.now();
    const chosen = options.class === undefined || options.class === null ? null : this.classIndex(options.class);
    const wanted = options.outputs ?? this.outputs;
    const { tensor, dims, geometry } = this.preprocessor.run(picture);
    const prepared = performance.now();
    const results = await this.run(tensor, dims, chosen, wanted);
    const finished = performance.now();
    const scores = numbers(results[this.metadata.scores]);
    const shares = scores.length === (this.classCount ?? scores.length) * this.batch
      ? probabilities(scores.subarray(0, scores.length / this.batch), this.metadata.scores_are) : null;
    const top = shares ? best(shares, this.labels, TOP) : [];
    const index = chosen ?? top[0]?.index ?? null;
    return {
      index,
      label: index === null ? "" : this.labels[index] ?? String(index),
      score: index === null || !shares ? null : shares[index],
      top,
      scores,
      maps: Object.fromEntries(wanted.map((name) => [name, mapOf(results[name])])),
      geometry,
      timings: { preprocess: prepared - started, inference: finished - prepared },
      image: picture,
    };
  }

  /**
   * @param {import("./image/preprocess.js").Elements} tensor
   * @param {number[]} dims
   * @param {number | null} chosen
   * @param {string[]} wanted
   */
  async run(tensor, dims, chosen, wanted) {
    const feeds = this.feedOf(tensor, dims);
    if (this.takesClass) {
      const classes = new BigInt64Array(this.batch).fill(chosen === null ? ARGMAX : BigInt(chosen));
      feeds[CLASS_INPUT] = new this.ort.Tensor("int64", classes, [this.batch]);
    }
    if (this.session.inputNames.includes(BOX_INPUT)) {
      feeds[BOX_INPUT] = new this.ort.Tensor("int64", new BigInt64Array(this.batch).fill(ARGMAX), [this.batch]);
    }
    return this.session.run(feeds, [this.metadata.scores, ...wanted]);
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
 * The map of the first picture in a batch.
 * @param {any} tensor
 * @returns {SaliencyMap}
 */
function mapOf(tensor) {
  const [, height, width, channels = 1] = tensor.dims;
  const data = tensor.data instanceof Uint8Array ? tensor.data : numbers(tensor);
  return { data: data.subarray(0, height * width * channels), width, height, channels };
}
