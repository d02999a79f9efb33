/**
 * The style of the overlay: the opacity follows the map, so that the picture keeps its colours.
 *
 * The same as the blend `focus` of `fastcam_runtime.draw`: a byte per value of the map says how much of the frame is
 * kept; the bytes are enlarged, and a table gives each its colour and opacity.
 */

import { INFERNO } from "./colormap.js";
import { Enlarge } from "./enlarge.js";
import { roundHalfEven } from "../image/geometry.js";

/**
 * @typedef {import("./contrast.js").Limits} Limits
 * @typedef {import("./contrast.js").Map} Map
 * @typedef {import("./contrast.js").Rect} Rect
 */

/** The greatest opacity, of 255. */
const OPAQUE = 230;
/** How often a map is enlarged before two rows of the frame share a row of it. */
const PAIRED_FROM = 3;
/** Brightness of the area outside the network's crop. */
export const UNSEEN = 0.5;

/** Colour and opacity by the share of the frame that is kept. */
const FOCUS = table((keep) => Math.min(255 - keep, OPAQUE), (keep) => Math.min(255 - keep, OPAQUE) * 255 / OPAQUE);
/** Colours of the map alone. */
const ALONE = table(() => 255, (level) => level);

/**
 * Four bytes, red, green, blue and alpha, per level.
 * @param {(level: number) => number} alpha
 * @param {(level: number) => number} place In the colour map.
 */
function table(alpha, place) {
  const bytes = new Uint8Array(4 * 256);
  for (let level = 0; level < 256; level++) {
    const colour = 3 * roundHalfEven(place(level));
    bytes.set([...INFERNO.subarray(colour, colour + 3), alpha(level)], 4 * level);
  }
  return new Uint32Array(bytes.buffer);
}

/** Paints maps at the size of the frame; buffers are reused while the sizes stay the same. */
export class Layer {
  constructor() {
    this.levels = new Uint8Array(0);
    /** @type {Enlarge | null} */
    this.enlarge = null;
  }

  /**
   * The overlay's layer: the map's colours, with the opacity in alpha.
   * @param {Map} map
   * @param {Rect} part Of the map, in its own pixels.
   * @param {Limits} limits
   * @param {[number, number]} size Height and width of the result.
   * @param {Uint8ClampedArray} out RGBA; not multiplied by alpha.
   */
  focus(map, part, { low, high }, [height, width], out) {
    const scale = high > low ? OPAQUE / (high - low) : 0;
    this.fill(map, part, (value) => (value > low ? 255 - Math.min(OPAQUE, Math.round((value - low) * scale)) : 255));
    const share = height >= PAIRED_FROM * part.height ? 2 : 1;
    this.paint(part, FOCUS, [height, width], share, out);
  }

  /**
   * The map alone in its colours, opaque.
   * @param {Map} map
   * @param {Rect} part
   * @param {[number, number]} size
   * @param {Uint8ClampedArray} out
   */
  alone(map, part, size, out) {
    this.fill(map, part, (value) => (value > 0 ? Math.min(255, Math.round(255 * value)) : 0));
    this.paint(part, ALONE, size, 1, out);
  }

  /**
   * @param {Map} map
   * @param {Rect} part
   * @param {(value: number) => number} level
   */
  fill({ data, width }, part, level) {
    if (this.levels.length !== part.width * part.height) this.levels = new Uint8Array(part.width * part.height);
    for (let y = 0, to = 0; y < part.height; y++) {
      const start = (part.y + y) * width + part.x;
      for (let at = start; at < start + part.width; at++) this.levels[to++] = level(data[at]);
    }
  }

  /**
   * @param {Rect} part
   * @param {Uint32Array} colours
   * @param {[number, number]} size
   * @param {number} share Rows of the result that share a row of levels.
   * @param {Uint8ClampedArray} out
   */
  paint(part, colours, [height, width], share, out) {
    const from = /** @type {[number, number]} */ ([part.height, part.width]);
    const to = /** @type {[number, number]} */ ([Math.ceil(height / share), width]);
    if (String([this.enlarge?.from, this.enlarge?.to]) !== String([from, to])) this.enlarge = new Enlarge(from, to);
    const pixels = new Uint32Array(out.buffer, out.byteOffset, width * height);
    /** @type {Enlarge} */ (this.enlarge).run(this.levels, (line, y) => {
      const start = y * share * width;
      for (let x = 0; x < width; x++) pixels[start + x] = colours[line[x]];
      if (share === 2 && y * 2 + 1 < height) pixels.copyWithin(start + width, start, start + width);
    });
  }
}
