/** The summary of an ONNX file, and the metadata that `fastcam export` wrote into it. */

import { BYTES, fields, text, textOf, varintOf } from "./protobuf.js";

// Field numbers of onnx.proto.
export const MODEL_GRAPH = 7;
export const GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_VALUE_INFO = 13;
export const VALUE_NAME = 1, TENSOR_NAME = 8;
const MODEL_METADATA = 14, ENTRY_KEY = 1, ENTRY_VALUE = 2;
const NODE_OPERATOR = 4, TENSOR_EXTERNAL = 13;
const VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1;

const ELEMENTS = /** @type {Record<number, string>} */ ({
  1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
});

const FORMAT_VERSION = 1;
const METADATA_KEY = "fastcam";

export const MAP = "saliency_map", CLASS_INPUT = "saliency_class", BOX_INPUT = "saliency_box", SCALE_PREFIX = "saliency_scale_";
export const CLASS_MAPS = ["saliency_cam", "saliency_fastcam", "saliency_nonclass"];
const MAPS = [MAP, `${MAP}_uint8`, `${MAP}_rgba`, "saliency_lovi", ...CLASS_MAPS];

/**
 * @typedef {{name: string, type: string, shape: (number | null)[]}} Value A free dimension is null.
 * @typedef {{
 *   inputs: Value[], outputs: Value[], metadata: Map<string, string>,
 *   initializers: Set<string>, quantized: boolean, externalWeights: boolean,
 * }} Summary
 * @typedef {{order: "RGB" | "BGR" | "GRAY", mean: number[], std: number[], pad?: number, placement?: string}} Preprocess
 * @typedef {{name: string, layout: string, channels: number, height: number, width: number}} ImageInput
 * @typedef {{name: string, shape: (number | null)[], weight: number}} Tap
 * @typedef {{
 *   version: number, image: ImageInput, scores: string, scores_are: "logits" | "probabilities", taps: Tap[],
 *   outputs: string[], preprocess: Preprocess, resize: "stretch" | "crop" | "letterbox", labels: string[],
 *   cam: string | null, detector?: import("../detect/rows.js").Head, prepared?: string, source_sha256?: string,
 * }} Metadata
 */

/** @param {string} name */
export function isSaliencyOutput(name) {
  return MAPS.includes(name) || new RegExp(`^${SCALE_PREFIX}\\d+$`).test(name);
}

/**
 * Summarise an ONNX file.
 * @param {Uint8Array} model
 * @returns {Summary}
 * @throws {Error} These are not the bytes of an ONNX model.
 */
export function summarize(model) {
  /** @type {Summary} */
  const found = {
    inputs: [], outputs: [], metadata: new Map(), initializers: new Set(), quantized: false,
    externalWeights: false,
  };
  let graphs = 0;
  for (const field of fields(model)) {
    if (field.number === MODEL_METADATA) {
      found.metadata.set(textOf(field.value, ENTRY_KEY), textOf(field.value, ENTRY_VALUE));
    } else if (field.number === MODEL_GRAPH && field.wire === BYTES) {
      graphs += 1;
      readGraph(field.value, found);
    }
  }
  if (graphs !== 1) throw new Error("not an ONNX model: it holds no graph");
  return found;
}

/**
 * The metadata of `fastcam export`.
 * @param {Summary} file
 * @returns {Metadata}
 * @throws {Error} There are none, they are damaged, or a newer program wrote them.
 */
export function readMetadata(file) {
  const json = file.metadata.get(METADATA_KEY);
  if (json === undefined) throw new Error("the file has no saliency maps; add them with: fastcam export");
  const metadata = parse(json);
  if (metadata?.version > FORMAT_VERSION) {
    throw new Error(`grafted by a newer fastcam (format ${metadata.version}, this one reads ${FORMAT_VERSION})`);
  }
  if (!isWhole(metadata)) throw new Error(`the metadata “${METADATA_KEY}” of the file are damaged`);
  if (metadata.prepared) throw new Error(`the file was prepared for ${metadata.prepared} only`);
  return metadata;
}

/** @param {string} json */
function parse(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/**
 * Whether metadata have the parts that every picture needs, in their types. The runtime in Python checks all of them.
 * @param {any} metadata
 */
function isWhole(metadata) {
  const { image, preprocess, labels } = metadata ?? {};
  const list = (/** @type {unknown} */ values, /** @type {string} */ type) => (
    Array.isArray(values) && values.every((value) => typeof value === type));
  const sizes = [image?.channels, image?.height, image?.width];
  return sizes.every((size) => Number.isInteger(size) && size > 0) && list([image.name, metadata.scores], "string")
    && list(preprocess?.mean, "number") && list(preprocess?.std, "number") && list(labels, "string");
}

/**
 * @param {Uint8Array} graph
 * @param {Summary} found
 */
function readGraph(graph, found) {
  for (const part of fields(graph)) {
    if (part.number === GRAPH_INPUT) found.inputs.push(readValue(part.value));
    else if (part.number === GRAPH_OUTPUT) found.outputs.push(readValue(part.value));
    else if (part.number === GRAPH_NODE) found.quantized ||= /Quantize|QLinear|Integer$/.test(textOf(part.value, NODE_OPERATOR));
    else if (part.number === GRAPH_INITIALIZER) {
      const tensor = fields(part.value);
      const name = tensor.find((field) => field.number === TENSOR_NAME);
      if (name) found.initializers.add(text(name.value));
      found.externalWeights ||= tensor.some((field) => field.number === TENSOR_EXTERNAL);
    }
  }
}

/**
 * @param {Uint8Array} value
 * @returns {Value}
 */
function readValue(value) {
  const tensor = inside(inside(value, VALUE_TYPE), TYPE_TENSOR);
  const element = fields(tensor).find((field) => field.number === TENSOR_ELEMENT);
  const shape = fields(inside(tensor, TENSOR_SHAPE))
    .filter((field) => field.number === SHAPE_DIM)
    .map((dim) => fields(dim.value).find((field) => field.number === DIM_VALUE))
    .map((size) => (size ? varintOf(size.value) : null));
  return { name: textOf(value, VALUE_NAME), type: element ? ELEMENTS[varintOf(element.value)] ?? "?" : "?", shape };
}

/**
 * The message in field `number`, empty if there is none.
 * @param {Uint8Array} message
 * @param {number} number
 */
function inside(message, number) {
  return fields(message).find((field) => field.number === number)?.value ?? message.subarray(0, 0);
}
