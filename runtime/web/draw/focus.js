/**
 * The style of the overlay: the opacity follows the map, so that the picture keeps its colours.
 *
 * The layer is transparent below the map's median, and opaque from its 99.5th percentile on, as the blend `focus` of
 * `fastcam_runtime.draw`.
 */

import { INFERNO } from "./colormap.js";

const LOW = 0.5, HIGH = 0.995;
const BINS = 4096;
const TINY = 1e-6;
/** Weight of the new frame in the limits: in a video, the brightness must not flicker. */
const FOLLOW = 0.2;

/**
 * Values of a map between which opacity grows from 0 to 1.
 * @typedef {{low: number, high: number}} Limits
 */

const histogram = new Uint32Array(BINS);

/**
 * The limits of a map with values in 0…1, with a resolution of 1/4096.
 * @param {Float32Array} map
 * @returns {Limits}
 */
export function limitsOf(map) {
  histogram.fill(0);
  for (let i = 0; i < map.length; i++) histogram[bin(map[i])]++;
  return { low: quantile(LOW, map.length), high: quantile(HIGH, map.length) };
}

/** @param {number} value */
function bin(value) {
  return Math.min(BINS - 1, Math.max(0, Math.floor(value * BINS))) || 0;
}

/**
 * @param {number} share
 * @param {number} size
 */
function quantile(share, size) {
  const rank = share * (size - 1);
  for (let i = 0, below = 0; i < BINS; below += histogram[i++]) {
    if (below + histogram[i] > rank) return (i + (rank - below + 0.5) / histogram[i]) / BINS;
  }
  return 1;
}

/** An exponential mean of the limits over the frames. */
export class SmoothLimits {
  constructor() {
    /** @type {Limits | null} */
    this.now = null;
  }

  /**
   * @param {Float32Array} map
   * @returns {Limits}
   */
  next(map) {
    const { low, high } = limitsOf(map);
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

/**
 * The overlay's layer for a map: its colours, with the opacity in alpha.
 * @param {Float32Array} map
 * @param {Limits} limits
 * @param {Uint8ClampedArray} out RGBA, four bytes per value of the map.
 */
export function paintFocus(map, limits, out) {
  const scale = 255 / Math.max(limits.high - limits.low, TINY);
  for (let i = 0; i < map.length; i++) {
    const level = Math.min(255, Math.max(0, Math.round((map[i] - limits.low) * scale)));
    colour(level, level, out, 4 * i);
  }
}

/**
 * A map in its colours, opaque.
 * @param {Float32Array} map
 * @param {Uint8ClampedArray} out
 */
export function paintMap(map, out) {
  for (let i = 0; i < map.length; i++) {
    colour(Math.min(255, Math.max(0, Math.round(255 * map[i]))), 255, out, 4 * i);
  }
}

/**
 * @param {number} level
 * @param {number} alpha
 * @param {Uint8ClampedArray} out
 * @param {number} at
 */
function colour(level, alpha, out, at) {
  out[at] = INFERNO[3 * level];
  out[at + 1] = INFERNO[3 * level + 1];
  out[at + 2] = INFERNO[3 * level + 2];
  out[at + 3] = alpha;
}
