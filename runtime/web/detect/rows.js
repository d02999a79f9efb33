/** The outputs of a detector's head, read row by row, as in `fastcam_runtime.detect`. */

/**
 * @typedef {{height: number, width: number, stride: number, per_cell: number}} Grid
 * @typedef {{
 *   layout: "rows" | "columns" | "grid" | "end_to_end", classes: number, boxes: string[], scores: string[],
 *   objectness: string[], indices?: string[], grids: Grid[], box_at: number, score_at: number, objectness_at: number,
 *   index_at?: number, decode: string,
 *   unit: "pixels" | "fraction", bins: number, centre: number, order: "cells" | "anchors",
 *   activation: "none" | "sigmoid" | "softmax", objectness_activation: "none" | "sigmoid", powers: [number, number],
 *   anchors: number[][], variances: [number, number], family: string,
 * }} Head The key `detector` of the metadata; docs/file-format.md describes it.
 * @typedef {{data: Float32Array, dims: readonly number[]}} Values One output for one picture, its integers as floats.
 * @typedef {{start: number, rows: number, values: number, data: Float32Array, step: number, at: (row: number) => number}} Part
 *   Rows `start`… of the head. Value v of the part's own row r is `data[at(r) + v * step]`.
 */

/** @param {Grid} grid */
export function rowsOf({ height, width, per_cell }) {
  return height * width * per_cell;
}

/**
 * Every output that decoding reads, each once.
 * @param {Head} head
 */
export function outputsOf({ scores, objectness, indices = [], boxes }) {
  return [...new Set([...scores, ...objectness, ...indices, ...boxes])];
}

/**
 * The outputs `names` as rows: one part for all rows, or one per grid.
 * @param {Head} head
 * @param {Record<string, Values>} outputs
 * @param {string[]} names
 * @returns {Part[]}
 * @throws {Error} Their size does not fit the grids.
 */
export function partsOf(head, outputs, names) {
  const perGrid = names.length === head.grids.length;
  let start = 0;
  return names.map((name, i) => {
    const { data, dims } = outputs[name], grid = perGrid ? head.grids[i] : null;
    const cells = head.grids.reduce((sum, each) => sum + rowsOf(each), 0);
    const rows = grid ? rowsOf(grid) : cells || data.length / dims[dims.length - 1];
    if (!rows || !data.length || data.length % rows) {
      throw new Error(`the detector's output “${name}” is ${dims.join("×")}, not ${rows} rows as its file says`);
    }
    const part = { start, rows, data, values: data.length / rows, ...placing(head, grid, rows, data.length / rows) };
    start += rows;
    return part;
  });
}

/**
 * @param {Head} head
 * @param {Grid | null} grid
 * @param {number} rows
 * @param {number} values
 * @returns {{step: number, at: (row: number) => number}}
 */
function placing({ layout }, grid, rows, values) {
  if (layout === "columns") return { step: rows, at: (row) => row };
  if (layout === "grid" && grid) {
    const cells = grid.height * grid.width;
    return { step: cells, at: (row) => Math.floor(row / cells) * values * cells + row % cells };
  }
  return { step: 1, at: (row) => row * values };
}

/**
 * Values `first` to `first + count` of one row of the head, written to `out`.
 * @param {Part[]} parts
 * @param {number} row
 * @param {number} first
 * @param {Float32Array} out
 */
export function readRow(parts, row, first, out) {
  const part = parts.find(({ start, rows }) => row >= start && row < start + rows) ?? parts[0];
  const at = part.at(row - part.start) + first * part.step;
  for (let v = 0; v < out.length; v++) out[v] = part.data[at + v * part.step];
}
