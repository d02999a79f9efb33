/** Boxes with labels, drawn on a canvas in the style of `fastcam_runtime.draw.boxes`. */

/** Step of the hue (golden ratio): neighbouring classes look different for any number of classes. */
const GOLDEN = 0.618034;
/** Saturation and brightness of every 21 classes: after 21 or 34 steps a hue nearly repeats. */
const SHADES = [[0.75, 1], [0.4, 1], [0.9, 0.71], [0.45, 0.75]];
const DARK = "rgb(20 20 20)";
/** Height of a capital letter as a share of the font's size. */
const CAPITAL = 0.72;

/**
 * The colour of a class, as red, green, blue; the same for every picture.
 * @param {number} index
 * @returns {[number, number, number]}
 */
export function classColour(index) {
  const hue = 6 * ((0.36 + index * GOLDEN) % 1);
  const [saturation, brightness] = SHADES[Math.floor(index / 21) % SHADES.length];
  const channel = (/** @type {number} */ n) => {
    const k = (n + hue) % 6;
    return Math.round(255 * brightness * (1 - saturation * Math.max(0, Math.min(k, 4 - k, 1))));
  };
  return [channel(5), channel(3), channel(1)];
}

/**
 * Draw boxes with label and score, the best one on top, and the labels over all boxes.
 * @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context
 * @param {import("../detect/detections.js").Detection[]} detections
 */
export function drawBoxes(context, detections) {
  const { width, height } = context.canvas;
  const line = Math.max(1, Math.round(Math.min(height, width) / 240)), inset = line / 2;
  const edge = Math.max(1, Math.floor(line / 3));
  const letters = Math.max(9, Math.round(Math.min(height / 40, width / 64)));
  context.font = `600 ${Math.round(letters / CAPITAL)}px system-ui, sans-serif`;
  context.textBaseline = "alphabetic";
  for (const found of [...detections].reverse()) {
    const [left, top, right, bottom] = found.box.map(Math.round);
    for (const [style, wide] of /** @type {[string, number][]} */ ([[DARK, line + 2 * edge], [paintOf(found.index), line]])) {
      context.strokeStyle = style;
      context.lineWidth = wide;
      context.strokeRect(left + inset, top + inset, right - left - line, bottom - top - line);
    }
  }
  /** @type {Tag[]} */
  const tags = [];
  for (const found of detections) tags.push(placeTag(context, found, letters, tags));
  for (const tag of tags.reverse()) drawTag(context, tag, letters);
}

const paintOf = (/** @type {number} */ index) => `rgb(${classColour(index).join(" ")})`;
const marginOf = (/** @type {number} */ letters) => Math.max(2, letters >> 1);

/** @typedef {{text: string, index: number, x: number, y: number, wide: number, high: number}} Tag A label and its place. */

/**
 * The label above its box, else inside or below it: the first place that covers no other label.
 * @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context
 * @param {import("../detect/detections.js").Detection} found
 * @param {number} letters Height of capital letters.
 * @param {Tag[]} tags The labels that have a place.
 * @returns {Tag}
 */
function placeTag(context, { box, label, score, index }, letters, tags) {
  const { width, height } = context.canvas, margin = 2 * marginOf(letters);
  const text = `${label} ${Math.round(100 * score)}%`;
  const high = letters + margin, wide = Math.min(width, Math.ceil(context.measureText(text).width) + margin);
  const [left, top, right, bottom] = box.map(Math.round);
  const columns = [left, right - wide].map((x) => Math.max(0, Math.min(x, width - wide)));
  const rows = [top - high, top, bottom, bottom - high].filter((y) => y >= 0 && y <= height - high);
  const places = rows.flatMap((y) => columns.map((x) => ({ x, y })));
  const free = places.find(({ x, y }) => !tags.some((other) => x < other.x + other.wide && other.x < x + wide
    && y < other.y + other.high && other.y < y + high));
  const first = places[0] ?? { x: columns[0], y: Math.max(0, Math.min(top, height - high)) };
  return { text, index, wide, high, ...free ?? first };
}

/**
 * The label on a background of its class's colour.
 * @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context
 * @param {Tag} tag
 * @param {number} letters Height of capital letters.
 */
function drawTag(context, { text, index, x, y, wide, high }, letters) {
  const [red, green, blue] = classColour(index), margin = marginOf(letters);
  context.fillStyle = paintOf(index);
  context.fillRect(x, y, wide, high);
  context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 110 ? DARK : "white";
  context.fillText(text, x + margin, y + high - margin, wide - 2 * margin);
}
