/** The score of each row of a detector's head, and the class it is for. */

import { sigmoid } from "./boxes.js";
import { partsOf } from "./rows.js";

/** @typedef {import("./rows.js").Head} Head */

/** Tolerance around 0…1 for half-precision and quantised networks. */
const ROUNDING = 1e-3;

/**
 * Each row's highest score, and its class.
 * @param {Head} head
 * @param {Record<string, import("./rows.js").Values>} outputs
 * @returns {{scores: Float32Array, classes: Int32Array}}
 * @throws {Error} The outputs do not fit the head: another number of rows, or scores outside 0…1.
 */
export function bestScores(head, outputs) {
  const parts = partsOf(head, outputs, head.scores);
  const count = parts.reduce((sum, { rows }) => sum + rows, 0);
  const scores = new Float32Array(count), classes = new Int32Array(count);
  for (const part of parts) {
    for (let row = 0; row < part.rows; row++) {
      const { best, index } = bestOf(part, row, head);
      scores[part.start + row] = head.activation === "softmax" ? softmax(best, part, row) : best;
      classes[part.start + row] = index;
    }
  }
  activate(scores, head.activation, "scores", head.scores[0]);
  if (head.objectness.length) weigh(scores, head, outputs);
  return { scores, classes };
}

/**
 * @param {import("./rows.js").Part} part
 * @param {number} row
 * @param {Head} head
 */
function bestOf({ data, step, at }, row, { score_at: first, classes }) {
  const from = at(row) + first * step;
  let best = data[from], index = 0;
  for (let k = 1, place = from + step; k < classes; k++, place += step) {
    if (data[place] > best) [best, index] = [data[place], k];
  }
  return { best, index };
}

/**
 * The softmax of the value `best` among all values of the row.
 * @param {number} best
 * @param {import("./rows.js").Part} part
 * @param {number} row
 */
function softmax(best, { data, step, at, values }, row) {
  const from = at(row);
  let most = -Infinity, sum = 0;
  for (let v = 0; v < values; v++) most = Math.max(most, data[from + v * step]);
  for (let v = 0; v < values; v++) sum += Math.exp(data[from + v * step] - most);
  return Math.exp(best - most) / sum;
}

/**
 * Multiply the scores by the objectness, each to its power.
 * @param {Float32Array} scores
 * @param {Head} head
 * @param {Record<string, import("./rows.js").Values>} outputs
 */
function weigh(scores, head, outputs) {
  const there = new Float32Array(scores.length);
  for (const { start, rows, data, step, at } of partsOf(head, outputs, head.objectness)) {
    for (let row = 0; row < rows; row++) there[start + row] = data[at(row) + head.objectness_at * step];
  }
  activate(there, head.objectness_activation, "objectness", head.objectness[0]);
  const [ofObject, ofClass] = head.powers;
  for (let i = 0; i < scores.length; i++) scores[i] = there[i] ** ofObject * scores[i] ** ofClass;
}

/**
 * Turn values into probabilities, in place.
 * @param {Float32Array} values
 * @param {string} activation
 * @param {string} what
 * @param {string} output
 */
export function activate(values, activation, what, output) {
  if (activation === "sigmoid") {
    for (let i = 0; i < values.length; i++) values[i] = sigmoid(values[i]);
    return;
  }
  let low = Infinity, high = -Infinity;
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (values.length && !(low >= -ROUNDING && high <= 1 + ROUNDING)) {
    throw new Error(
      `the detector's ${what} in “${output}” are ${low.toPrecision(3)}…${high.toPrecision(3)}, not 0…1: ` +
      "export the file again with --head",
    );
  }
  for (let i = 0; i < values.length; i++) values[i] = Math.min(1, Math.max(0, values[i]));
}
