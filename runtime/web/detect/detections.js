/** The detections of a picture, best first. */

import { labelOf } from "../classes.js";
import { toFrame } from "../image/geometry.js";
import { boxValues, decodeBox } from "./boxes.js";
import { keepBest } from "./nms.js";
import { partsOf, readRow } from "./rows.js";
import { activate, bestScores } from "./scores.js";

/** Most boxes per picture. */
const MOST = 300;

/** Which detections to keep: the lowest score, and the overlap above which only the better box stays. */
export const THRESHOLD = { score: 0.25, iou: 0.45 };

/**
 * @typedef {import("./boxes.js").Box} Box
 * @typedef {import("./rows.js").Head} Head
 * @typedef {Record<string, import("./rows.js").Values>} Outputs
 * @typedef {{box: Box, label: string, score: number, index: number, row: number}} Detection
 *   `box` in pixels of the picture; `index`: the class; `row`: of the head, as the input `saliency_box` takes it.
 * @typedef {{box: Box, score: number, index: number, row: number}} Candidate `box` in pixels of the input.
 */

/**
 * @param {Head} head
 * @param {Outputs} outputs The head's outputs for this picture.
 * @param {import("../image/geometry.js").Geometry} geometry
 * @param {string[]} labels
 * @param {Partial<typeof THRESHOLD>} threshold
 * @returns {Detection[]}
 * @throws {Error} The outputs do not fit the head.
 */
export function detect(head, outputs, geometry, labels, threshold = {}) {
  const { score, iou } = { ...THRESHOLD, ...threshold };
  const find = head.layout === "end_to_end" ? ofOwnNms : ofRows;
  const found = find(head, outputs, geometry.input, score);
  checkPlace(found, geometry.input, head);
  return keepBest(found, head.grids.length ? iou : 1, MOST)
    .map((one) => ({ ...one, box: toFrame(one.box, geometry), label: labelOf(one.index, labels) }))
    .filter(({ index, box }) => index >= 0 && box[2] > box[0] && box[3] > box[1]);
}

/**
 * The rows that score at least `least`, decoded.
 * @param {Head} head
 * @param {Outputs} outputs
 * @param {[number, number]} size
 * @param {number} least
 * @returns {Candidate[]}
 */
function ofRows(head, outputs, size, least) {
  const { scores, classes } = bestScores(head, outputs);
  const parts = partsOf(head, outputs, head.boxes), raw = new Float32Array(boxValues(head));
  const found = [];
  for (let row = 0; row < scores.length; row++) {
    if (!(scores[row] >= least)) continue;
    readRow(parts, row, head.box_at, raw);
    found.push({ box: decodeBox(head, raw, row, size), score: scores[row], index: classes[row], row });
  }
  return found;
}

/**
 * Rows of box, score and class, from a network with its own NMS.
 * @param {Head} head
 * @param {Outputs} outputs
 * @param {[number, number]} size
 * @param {number} least
 * @returns {Candidate[]}
 */
function ofOwnNms(head, outputs, size, least) {
  const [name] = head.boxes, { data, dims } = outputs[name], values = dims[dims.length - 1];
  const rows = data.length / values;
  const scores = Float32Array.from(columnOf(outputs, head.scores[0], rows, head.score_at));
  const classes = columnOf(outputs, (head.indices?.length ? head.indices : head.scores)[0], rows, head.index_at ?? 5);
  activate(scores, head.activation, "scores", head.scores[0]);
  const found = [];
  for (let row = 0; row < rows; row++) {
    if (!(scores[row] >= least)) continue;
    const start = row * values + head.box_at;
    const box = decodeBox(head, data.subarray(start, start + 4), row, size);
    found.push({ box, score: scores[row], index: Math.round(classes[row]), row });
  }
  return found;
}

/**
 * Value `at` of each of the rows; an output with one value per row is such a column itself.
 * @param {Outputs} outputs
 * @param {string} name
 * @param {number} rows
 * @param {number} at
 * @returns {number[]}
 * @throws {Error} It has another number of rows.
 */
function columnOf(outputs, name, rows, at) {
  const { data, dims } = outputs[name], values = data.length === rows ? 1 : dims[dims.length - 1];
  const first = values === 1 ? 0 : at;
  if (first >= values || data.length !== rows * values) {
    throw new Error(`the detector's output “${name}” is ${dims.join("×")}, not ${rows} rows as its boxes`);
  }
  return Array.from({ length: rows }, (_, row) => Number(data[row * values + first]));
}

/**
 * Refuse boxes outside the picture: they were decoded the wrong way.
 * @param {Candidate[]} found
 * @param {[number, number]} size
 * @param {Head} head
 */
function checkPlace(found, [height, width], head) {
  const inside = (/** @type {Candidate} */ { box: [left, top, right, bottom] }) => left + right > -width && left + right < 3 * width
    && top + bottom > -height && top + bottom < 3 * height;
  if (found.every(({ box }) => box.every(Number.isFinite)) && (!found.length || found.some(inside))) return;
  throw new Error(
    `the detector's boxes in “${head.boxes[0]}” are outside the picture when decoded as “${head.decode}” ` +
    `(${head.unit}): export the file again with --head`,
  );
}
