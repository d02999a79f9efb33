/** Box decoders: from a network's values to left, top, right, bottom in pixels of its input. */

import { rowsOf } from "./rows.js";

/**
 * @typedef {import("./rows.js").Head} Head
 * @typedef {[number, number, number, number]} Box Left, top, right, bottom.
 * @typedef {{x: number, y: number, stride: number, anchor: [number, number]}} Cell
 *   Column, row and stride of a row's cell; width and height of its anchor where the head has anchors.
 * @typedef {(raw: Float32Array, cell: Cell, head: Head, size: [number, number]) => Box} Decoder
 */

/** Upper limit of exponents: e to this power is larger than any picture. */
const LARGEST_EXPONENT = 20;

/** @param {number} value */
export const sigmoid = (value) => (1 + Math.tanh(value / 2)) / 2;
const exp = (/** @type {number} */ value) => Math.exp(Math.min(value, LARGEST_EXPONENT));

/** @type {Record<string, (raw: Float32Array) => Box>} */
const PLAIN = {
  xyxy: ([left, top, right, bottom]) => [left, top, right, bottom],
  yxyx: ([top, left, bottom, right]) => [left, top, right, bottom],
  cxcywh: ([x, y, width, height]) => corners(x, y, width, height),
};

/** @type {Record<string, Decoder>} */
const CODED = {
  offsets: (v, { x, y, stride }) => corners((v[0] + x) * stride, (v[1] + y) * stride, exp(v[2]) * stride, exp(v[3]) * stride),
  distances,
  distribution: (v, cell, head) => distances(expectations(v, head.bins), cell, head),
  anchors: (v, { x, y, stride, anchor }) => {
    const [a, b, c, d] = [...v].map((value) => 2 * sigmoid(value));
    return corners((a - 0.5 + x) * stride, (b - 0.5 + y) * stride, c ** 2 * anchor[0], d ** 2 * anchor[1]);
  },
  priors: (v, { x, y, stride, anchor: [width, height] }, { centre, variances: [ofCentre, ofSize] }) => corners(
    (x + centre) * stride + v[0] * ofCentre * width, (y + centre) * stride + v[1] * ofCentre * height,
    exp(v[2] * ofSize) * width, exp(v[3] * ofSize) * height,
  ),
  tanh: (v, { x, y, stride }, _, size) => corners(
    (Math.tanh(v[0]) + x) * stride, (Math.tanh(v[1]) + y) * stride, sigmoid(v[2]) * size[1], sigmoid(v[3]) * size[0],
  ),
};

/**
 * The number of a row's values that belong to its box.
 * @param {Head} head
 */
export function boxValues(head) {
  return head.decode === "distribution" ? 4 * head.bins : 4;
}

/**
 * @param {Head} head
 * @param {Float32Array} raw The network's values for the box.
 * @param {number} row
 * @param {[number, number]} size Height and width of the input.
 * @returns {Box}
 * @throws {Error} The file uses a decoding that is not known here.
 */
export function decodeBox(head, raw, row, size) {
  if (head.decode in PLAIN) {
    const box = PLAIN[head.decode](raw);
    if (head.unit !== "fraction") return box;
    return [box[0] * size[1], box[1] * size[0], box[2] * size[1], box[3] * size[0]];
  }
  if (!(head.decode in CODED)) throw new Error(`boxes coded as “${head.decode}” cannot be read`);
  return CODED[head.decode](raw, cellOf(head, row), head, size);
}

/**
 * @param {Head} head
 * @param {number} row
 * @returns {Cell}
 */
function cellOf(head, row) {
  let g = 0;
  while (row >= rowsOf(head.grids[g])) row -= rowsOf(head.grids[g++]);
  const { height, width, stride, per_cell: count } = head.grids[g];
  const byCell = head.order === "cells";
  const cell = byCell ? Math.floor(row / count) : row % (height * width);
  const kind = byCell ? row % count : Math.floor(row / (height * width));
  const sides = head.anchors[g] ?? [];
  return { x: cell % width, y: Math.floor(cell / width), stride, anchor: [sides[2 * kind], sides[2 * kind + 1]] };
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @returns {Box}
 */
function corners(x, y, width, height) {
  return [x - width / 2, y - height / 2, x + width / 2, y + height / 2];
}

/**
 * Left, top, right, bottom from a point of the cell, in strides.
 * @param {ArrayLike<number>} v
 * @param {Cell} cell
 * @param {Head} head
 * @returns {Box}
 */
function distances(v, { x, y, stride }, { centre }) {
  const [across, down] = [x + centre, y + centre];
  return [(across - v[0]) * stride, (down - v[1]) * stride, (across + v[2]) * stride, (down + v[3]) * stride];
}

/**
 * Each side's expectation over bins 0, 1, 2….
 * @param {Float32Array} logits
 * @param {number} bins
 */
function expectations(logits, bins) {
  return [0, 1, 2, 3].map((side) => {
    const own = logits.subarray(side * bins, (side + 1) * bins), most = Math.max(...own);
    let sum = 0, weighted = 0;
    own.forEach((value, bin) => {
      const weight = Math.exp(value - most);
      sum += weight;
      weighted += bin * weight;
    });
    return weighted / sum;
  });
}
