/**
 * Prune saliency outputs, and the grafted nodes that only they need, from a grafted file.
 *
 * onnxruntime runs every node of a file, even for outputs that are not requested. So an unused map costs nothing only
 * in a file without it. The same rule as in `fastcam_runtime.model.pruning`.
 */

import {
  BOX_INPUT, CLASS_INPUT, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_NODE, GRAPH_OUTPUT, GRAPH_VALUE_INFO, MODEL_GRAPH,
  TENSOR_NAME, VALUE_NAME, isSaliencyOutput,
} from "./onnx.js";
import { BYTES, concat, fields, header, text, textOf } from "./protobuf.js";

const NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_ATTRIBUTE = 5;
const ATTRIBUTE_GRAPH = 6, ATTRIBUTE_GRAPHS = 11;
const NODE_PREFIX = "fastcam/";
/** Graphs inside graphs, as in `fastcam_runtime.limits`. */
export const MAX_DEPTH = 32;
const CHOICES = [CLASS_INPUT, BOX_INPUT];

/** @typedef {{grafted: boolean, inputs: Set<string>, outputs: Set<string>}} Node */

/**
 * The same model with only the saliency outputs in `keep`; everything else stays byte-identical.
 *
 * If the class input stays, it loses its default and becomes required: onnxruntime for JavaScript does not support
 * inputs with a default.
 * @param {Uint8Array} model
 * @param {Iterable<string>} keep
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function cut(model, keep) {
  const kept = new Set(keep);
  const parts = [];
  for (const field of fields(model)) {
    if (field.number === MODEL_GRAPH && field.wire === BYTES) {
      const graph = cutGraph(field.value, kept);
      parts.push(header(MODEL_GRAPH, graph.reduce((sum, part) => sum + part.length, 0)));
      for (const part of graph) parts.push(part);
    } else {
      parts.push(field.whole);
    }
  }
  return concat(parts);
}

/**
 * The remaining fields of the graph, in order.
 * @param {Uint8Array} graph
 * @param {Set<string>} keep
 */
function cutGraph(graph, keep) {
  const parts = fields(graph);
  const nodes = new Map(
    parts.flatMap((part, index) => (part.number === GRAPH_NODE ? [[index, readNode(part.value)]] : [])),
  );
  const outputs = parts.filter((part) => part.number === GRAPH_OUTPUT).map((part) => textOf(part.value, VALUE_NAME));
  const stay = new Set(outputs.filter((name) => !isSaliencyOutput(name) || keep.has(name)));
  const needed = neededBy([...nodes.values()], stay);
  const gone = new Set([...nodes].flatMap(([i, node]) => (
    node.grafted && ![...node.outputs].some((name) => needed.has(name)) ? [i] : [])));
  // Only inputs of dropped nodes can have become unused; everything else belongs to the network.
  const touched = new Set(CHOICES);
  const read = new Set(stay);
  for (const [i, node] of nodes) {
    const into = gone.has(i) ? touched : read;
    for (const name of node.inputs) into.add(name);
    if (gone.has(i)) for (const name of node.outputs) into.add(name);
  }
  const useless = (/** @type {string} */ name) => touched.has(name) && !read.has(name);

  return parts.filter((part, index) => {
    if (part.number === GRAPH_NODE) return !gone.has(index);
    if (part.number === GRAPH_OUTPUT) return stay.has(textOf(part.value, VALUE_NAME));
    if (part.number === GRAPH_VALUE_INFO) return !useless(textOf(part.value, VALUE_NAME));
    if (part.number === GRAPH_INITIALIZER) {
      const name = textOf(part.value, TENSOR_NAME);
      return !CHOICES.includes(name) && !useless(name);
    }
    if (part.number === GRAPH_INPUT) {
      const name = textOf(part.value, VALUE_NAME);
      return !(CHOICES.includes(name) && useless(name));
    }
    return true;
  }).map((part) => part.whole);
}

/**
 * @param {Uint8Array} data
 * @param {number} depth Graphs around it.
 * @returns {Node}
 */
function readNode(data, depth = 1) {
  if (depth > MAX_DEPTH) throw new Error(`the model nests graphs more than ${MAX_DEPTH} deep`);
  const node = { grafted: false, inputs: new Set(), outputs: new Set() };
  for (const field of fields(data)) {
    if (field.number === NODE_INPUT) node.inputs.add(text(field.value));
    else if (field.number === NODE_OUTPUT) node.outputs.add(text(field.value));
    else if (field.number === NODE_NAME) node.grafted = text(field.value).startsWith(NODE_PREFIX);
    else if (field.number === NODE_ATTRIBUTE) for (const name of readByBodies(field.value, depth)) node.inputs.add(name);
  }
  node.inputs.delete("");
  node.outputs.delete("");
  return node;
}

/**
 * Every name that the subgraphs in an attribute read: a superset of the outer values they capture.
 * @param {Uint8Array} attribute
 * @param {number} depth
 */
function readByBodies(attribute, depth) {
  const names = new Set();
  for (const field of fields(attribute)) {
    if (![ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS].includes(field.number) || field.wire !== BYTES) continue;
    for (const part of fields(field.value)) {
      if (part.number === GRAPH_NODE) for (const name of readNode(part.value, depth + 1).inputs) names.add(name);
      else if (part.number === GRAPH_OUTPUT) names.add(textOf(part.value, VALUE_NAME));
    }
  }
  return names;
}

/**
 * The values that the kept outputs and the network's own nodes need, walking backwards.
 * @param {Node[]} nodes
 * @param {Set<string>} outputs
 */
function neededBy(nodes, outputs) {
  const producer = new Map(nodes.flatMap((node) => [...node.outputs].map((name) => [name, node])));
  const waiting = [...outputs, ...nodes.filter((node) => !node.grafted).flatMap((node) => [...node.inputs])];
  const needed = new Set();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (needed.has(name)) continue;
    needed.add(name);
    for (const input of producer.get(name)?.inputs ?? []) waiting.push(input);
  }
  return needed;
}
