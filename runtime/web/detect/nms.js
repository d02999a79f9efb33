/** Non-maximum suppression: among boxes that overlap, keep the best. */

/** @typedef {import("./boxes.js").Box} Box */

/** Most boxes to process: of more, only the best are used. */
const CONSIDERED = 1000;

/**
 * The candidates to keep, best first.
 * @template {{box: Box, score: number, index: number}} T
 * @param {T[]} candidates Boxes of different classes (`index`) do not suppress each other.
 * @param {number} iou Overlap above which the worse box is dropped; at 1 none is.
 * @param {number} most The most boxes to keep.
 * @returns {T[]}
 */
export function keepBest(candidates, iou, most) {
  const ordered = [...candidates].sort((a, b) => b.score - a.score).slice(0, CONSIDERED);
  if (iou >= 1) return ordered.slice(0, most);
  /** @type {T[]} */
  const kept = [];
  for (const one of ordered) {
    if (kept.length === most) break;
    if (!kept.some((better) => better.index === one.index && overlap(better.box, one.box) > iou)) kept.push(one);
  }
  return kept;
}

/**
 * Intersection over union; 0 if both boxes are empty.
 * @param {Box} a
 * @param {Box} b
 */
export function overlap(a, b) {
  const common = area([Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])]);
  const union = area(a) + area(b) - common;
  return union > 0 ? common / union : 0;
}

/** @param {Box} box */
function area([left, top, right, bottom]) {
  return Math.max(0, right - left) * Math.max(0, bottom - top);
}
