/** Boxes with labels, drawn on a canvas in the style of `fastcam_runtime.draw.boxes`. */

/** Step of the hue (golden ratio): neighbouring classes look different for any number of classes. */
const GOLDEN = 0.618034;
const DARK = "rgb(20 20 20)";
/** Height of a capital letter as a share of the font's size. */
const CAPITAL = 0.72;

/**
 * The colour of a class: hue with saturation 0.75 at full brightness, as red, green, blue; the same for every picture.
 * @param {number} index
 * @returns {[number, number, number]}
 */
export function classColour(index) {
  const hue = 6 * ((0.36 + index * GOLDEN) % 1);
  const channel = (/** @type {number} */ n) => {
    const k = (n + hue) % 6;
    return Math.round(255 * (1 - 0.75 * Math.max(0, Math.min(k, 4 - k, 1))));
  };
  return [channel(5), channel(3), channel(1)];
}

/**
 * Draw boxes with label and score, the best one on top.
 * @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context
 * @param {import("../detect/detections.js").Detection[]} detections
 */
export function drawBoxes(context, detections) {
  const { width, height } = context.canvas;
  const line = Math.max(1, Math.round(Math.min(height, width) / 240));
  const letters = Math.max(9, Math.round(Math.min(height / 40, width / 64)));
  context.font = `600 ${Math.round(letters / CAPITAL)}px system-ui, sans-serif`;
  context.textBaseline = "alphabetic";
  for (const found of [...detections].reverse()) {
    const colour = classColour(found.index), paint = `rgb(${colour.join(" ")})`;
    const [left, top, right, bottom] = found.box.map(Math.round);
    const inset = line / 2;
    for (const [style, wide] of /** @type {[string, number][]} */ ([[DARK, line + 2], [paint, line]])) {
      context.strokeStyle = style;
      context.lineWidth = wide;
      context.strokeRect(left + inset, top + inset, right - left - line, bottom - top - line);
    }
    drawTag(context, found, letters, colour);
  }
}

/**
 * The label on a background of the class's colour: above the box, or inside it at the upper edge.
 * @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context
 * @param {import("../detect/detections.js").Detection} found
 * @param {number} letters Height of capital letters.
 * @param {[number, number, number]} colour
 */
function drawTag(context, { box: [left, top], label, score }, letters, colour) {
  const { width, height } = context.canvas;
  const text = `${label} ${Math.round(100 * score)}%`, margin = Math.max(2, letters >> 1);
  const high = letters + 2 * margin, wide = Math.min(width, Math.ceil(context.measureText(text).width) + 2 * margin);
  const x = Math.min(Math.round(left), width - wide), above = Math.round(top) - high;
  const y = above >= 0 ? above : Math.max(0, Math.min(Math.round(top), height - high));
  context.fillStyle = `rgb(${colour.join(" ")})`;
  context.fillRect(x, y, wide, high);
  context.fillStyle = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] > 110 ? DARK : "white";
  context.fillText(text, x + margin, y + high - margin, wide - 2 * margin);
}
