/** The contrast of a map: transparent below its median, opaque from its 99.5th percentile on. */

import { roundHalfEven } from "../image/geometry.js";

/**
 * @typedef {{low: number, high: number}} Limits Values of a map between which its opacity grows.
 * @typedef {{data: Float32Array, width: number, height: number}} Map A map without colours.
 * @typedef {import("../image/geometry.js").Rect} Rect
 */

const LOW = 0.5, HIGH = 0.995;
/** Pixels that the percentiles are taken over, at most: larger maps are sampled on a regular grid. */
const SAMPLES = 2 ** 12;
/** Weight of the new frame in the limits: in a video, the brightness must not flicker. */
const FOLLOW = 0.2;

/** Room for the samples of a map of any size: a grid can have one more line each way. */
const samples = new Float32Array(4 * SAMPLES);

/**
 * The part of a map that shows the frame, in the map's own pixels.
 * @param {{width: number, height: number}} map
 * @param {import("../image/geometry.js").Geometry} geometry
 * @returns {Rect}
 */
export function partOf({ width, height }, { placed, input }) {
  const across = width / input[1], down = height / input[0];
  const x = Math.floor(placed.x * across), y = Math.floor(placed.y * down);
  return {
    x, y, width: Math.max(1, Math.min(width - x, Math.round(placed.width * across))),
    height: Math.max(1, Math.min(height - y, Math.round(placed.height * down))),
  };
}

/**
 * The limits of a map, or of a part of it, as in `fastcam_runtime.draw.contrast`; values that are not finite are ignored.
 * @param {Map} map
 * @param {Rect} part
 * @returns {Limits} Equal for a constant map, which is not shown.
 */
export function limitsOf(map, part = { x: 0, y: 0, width: map.width, height: map.height }) {
  const step = Math.ceil(Math.sqrt(part.width * part.height / SAMPLES));
  const count = collect(map, part, step);
  if (!count) return { low: 0, high: 0 };
  const ordered = samples.subarray(0, count).sort();
  const low = ordered[roundHalfEven(LOW * (count - 1))], high = ordered[roundHalfEven(HIGH * (count - 1))];
  return { low, high: high > low ? high : highest(map, part, low) };
}

/**
 * Every `step`-th pixel of every `step`-th line, in `samples`; the number of them.
 * @param {Map} map
 * @param {Rect} part
 * @param {number} step
 */
function collect({ data, width }, part, step) {
  let count = 0;
  for (let y = part.y; y < part.y + part.height; y += step) {
    for (let at = y * width + part.x, end = at + part.width; at < end && count < samples.length; at += step) {
      if (Number.isFinite(data[at])) samples[count++] = data[at];
    }
  }
  return count;
}

/**
 * @param {Map} map
 * @param {Rect} part
 * @param {number} least
 */
function highest({ data, width }, part, least) {
  for (let y = part.y; y < part.y + part.height; y++) {
    for (let at = y * width + part.x, end = at + part.width; at < end; at++) {
      if (data[at] > least && data[at] < Infinity) least = data[at];
    }
  }
  return least;
}

/** An exponential mean of the limits over the frames. */
export class SmoothLimits {
  constructor() {
    /** @type {Limits | null} */
    this.now = null;
  }

  /**
   * @param {Map} map
   * @param {Rect} [part]
   * @returns {Limits}
   */
  next(map, part) {
    const { low, high } = limitsOf(map, part);
    const now = this.now ??= { low, high };
    now.low += FOLLOW * (low - now.low);
    now.high += FOLLOW * (high - now.high);
    return now;
  }

  /** Forget earlier frames: the next one is of another scene. */
  reset() {
    this.now = null;
  }
}
