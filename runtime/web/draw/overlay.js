/** The overlay as pixels, where there is no canvas; the page does not need it. */

import { limitsOf, partOf } from "./contrast.js";
import { Layer, UNSEEN } from "./focus.js";

/**
 * @typedef {import("./contrast.js").Limits} Limits
 * @typedef {import("./contrast.js").Map} Map
 * @typedef {import("../image/geometry.js").Geometry} Geometry
 */

/**
 * A picture with a map over it, as new RGBA pixels: what `draw` shows, where there is no canvas.
 * @param {import("../image/preprocess.js").Pixels} picture RGBA.
 * @param {Map} map
 * @param {Geometry} geometry `result.geometry`.
 * @param {Limits} [limits] By default the map's own.
 * @returns {import("../image/preprocess.js").Pixels}
 */
export function overlay(picture, map, geometry, limits) {
  const { frame: [height, width], seen } = geometry, part = partOf(map, geometry);
  const layer = new Uint8ClampedArray(4 * seen.width * seen.height), data = new Uint8ClampedArray(picture.data);
  new Layer().focus(map, part, limits ?? limitsOf(map, part), [seen.height, seen.width], layer);
  if (seen.width !== width || seen.height !== height) {
    for (let i = 0; i < data.length; i++) if (i % 4 < 3) data[i] *= UNSEEN;
  }
  for (let y = 0, from = 0; y < seen.height; y++) {
    let to = 4 * ((seen.y + y) * width + seen.x);
    for (let x = 0; x < seen.width; x++, from += 4, to += 4) {
      const alpha = layer[from + 3];
      for (let c = 0; c < 3; c++) {
        data[to + c] = Math.round(picture.data[to + c] * (255 - alpha) / 255) + Math.round(layer[from + c] * alpha / 255);
      }
    }
  }
  return { data, width, height };
}
