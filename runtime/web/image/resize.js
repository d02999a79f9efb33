/**
 * Resize RGBA pictures as `fastcam_runtime.preprocess` does with OpenCV: halve sides by averaging while at least
 * twice too large, then bilinear, in the same fixed-point arithmetic. Alpha is not computed.
 */

import { roundHalfEven } from "./geometry.js";

/** @typedef {Uint8Array | Uint8ClampedArray} Bytes */

const COEFFICIENT = 2048;

/**
 * Resizes pictures of one size. Buffers are reused; a result is overwritten by the next call.
 */
export class Shrink {
  /**
   * @param {[number, number]} from Height and width of the pictures.
   * @param {[number, number]} to Height and width of the result.
   */
  constructor(from, to) {
    let [height, width] = from;
    /** @type {((source: Bytes) => Uint8Array)[]} */
    this.steps = [];
    while (height >= 2 * to[0] || width >= 2 * to[1]) {
      const size = /** @type {[number, number]} */ ([
        height >= 2 * to[0] ? height >> 1 : height,
        width >= 2 * to[1] ? width >> 1 : width,
      ]);
      this.steps.push(average([height, width], size));
      [height, width] = size;
    }
    if (height !== to[0] || width !== to[1]) this.steps.push(bilinear([height, width], to));
  }

  /**
   * @param {Bytes} pixels RGBA of the whole picture.
   * @returns {Bytes} RGBA; the same array if the picture has the size already.
   */
  run(pixels) {
    return this.steps.reduce((source, step) => step(source), pixels);
  }
}

/**
 * @param {[number, number]} from
 * @param {[number, number]} to
 */
function average([h, w], [height, width]) {
  const out = new Uint8Array(4 * height * width);
  if (h === 2 * height && w === 2 * width) return (/** @type {Bytes} */ source) => quarter(source, out, width, height);
  const rows = shares(h, height), columns = shares(w, width);
  const sums = new Float32Array(3 * width), line = new Float32Array(3 * width);
  return (/** @type {Bytes} */ source) => {
    for (let y = 0, to = 0; y < height; y++) {
      sums.fill(0);
      for (let k = rows.start[y]; k < rows.start[y + 1]; k++) {
        shrinkRow(source, 4 * w * rows.pixel[k], columns, line);
        const share = rows.share[k];
        for (let i = 0; i < sums.length; i++) sums[i] += Math.fround(share * line[i]);
      }
      for (let i = 0; i < sums.length; i += 3, to += 4) {
        out[to] = roundHalfEven(sums[i]);
        out[to + 1] = roundHalfEven(sums[i + 1]);
        out[to + 2] = roundHalfEven(sums[i + 2]);
      }
    }
    return out;
  };
}

/**
 * Means of 2×2 pixels, ties rounded up.
 * @param {Bytes} source
 * @param {Uint8Array} out
 * @param {number} width
 * @param {number} height
 */
function quarter(source, out, width, height) {
  const line = 8 * width;
  for (let y = 0, to = 0; y < height; y++) {
    let at = 2 * y * line;
    for (let x = 0; x < width; x++, at += 8, to += 4) {
      const below = at + line;
      out[to] = (source[at] + source[at + 4] + source[below] + source[below + 4] + 2) >> 2;
      out[to + 1] = (source[at + 1] + source[at + 5] + source[below + 1] + source[below + 5] + 2) >> 2;
      out[to + 2] = (source[at + 2] + source[at + 6] + source[below + 2] + source[below + 6] + 2) >> 2;
    }
  }
  return out;
}

/**
 * The source pixels of each result, with their weights: those of result i begin at `start[i]`.
 * @param {number} from
 * @param {number} to
 */
function shares(from, to) {
  const scale = from / to;
  const start = [0], pixel = [], share = [];
  for (let i = 0; i < to; i++) {
    const low = i * scale, high = Math.min(from, low + scale);
    for (let j = Math.floor(low); j < Math.ceil(high); j++) {
      const part = (Math.min(high, j + 1) - Math.max(low, j)) / scale;
      if (part < 1e-3 / scale) continue;
      pixel.push(j);
      share.push(part);
    }
    start.push(pixel.length);
  }
  return { start: Int32Array.from(start), pixel: Int32Array.from(pixel), share: Float32Array.from(share) };
}

/**
 * The means within one row. Every step is rounded to float32, as in OpenCV, because that decides ties.
 * @param {Bytes} source
 * @param {number} from
 * @param {ReturnType<typeof shares>} columns
 * @param {Float32Array} out
 */
function shrinkRow(source, from, columns, out) {
  out.fill(0);
  for (let x = 0, to = 0; to < out.length; x++, to += 3) {
    for (let k = columns.start[x]; k < columns.start[x + 1]; k++) {
      const at = from + 4 * columns.pixel[k], share = columns.share[k];
      out[to] += Math.fround(share * source[at]);
      out[to + 1] += Math.fround(share * source[at + 1]);
      out[to + 2] += Math.fround(share * source[at + 2]);
    }
  }
}

/**
 * @param {[number, number]} from
 * @param {[number, number]} to
 */
function bilinear([h, w], [height, width]) {
  const out = new Uint8Array(4 * height * width);
  const ys = neighbours(h, height, true), xs = neighbours(w, width, false);
  const upper = new Int32Array(3 * width), lower = new Int32Array(3 * width);
  return (/** @type {Bytes} */ source) => {
    for (let y = 0, to = 0; y < height; y++) {
      mixRow(source, 4 * w * ys.first[y], xs, upper);
      mixRow(source, 4 * w * ys.second[y], xs, lower);
      const a = ys.near[y], b = ys.far[y];
      for (let i = 0; i < 3 * width; i += 3, to += 4) {
        for (let c = 0; c < 3; c++) {
          out[to + c] = (((a * (upper[i + c] >> 4)) >> 16) + ((b * (lower[i + c] >> 4)) >> 16) + 2) >> 2;
        }
      }
    }
    return out;
  };
}

/**
 * For each result the two source pixels around it, and their weights out of 2048.
 * @param {number} from
 * @param {number} to
 * @param {boolean} mixEdges Blend the outermost pixel with itself beyond the edge, as OpenCV does with rows: the two
 *   products are rounded separately.
 */
export function neighbours(from, to, mixEdges) {
  const first = new Int32Array(to), second = new Int32Array(to), near = new Int32Array(to), far = new Int32Array(to);
  for (let i = 0; i < to; i++) {
    const place = Math.fround((i + 0.5) * (1 / (to / from)) - 0.5);
    const before = Math.floor(place);
    first[i] = Math.min(from - 1, Math.max(0, before));
    second[i] = Math.min(from - 1, Math.max(0, before + 1));
    const inside = before >= 0 && before < from - 1;
    const rest = inside || mixEdges ? Math.fround(place - before) : 0;
    near[i] = roundHalfEven(Math.fround(1 - rest) * COEFFICIENT);
    far[i] = roundHalfEven(rest * COEFFICIENT);
  }
  return { first, second, near, far };
}

/**
 * @param {Bytes} source
 * @param {number} start
 * @param {ReturnType<typeof neighbours>} xs
 * @param {Int32Array} out
 */
function mixRow(source, start, xs, out) {
  for (let x = 0, to = 0; x < xs.first.length; x++, to += 3) {
    const p = start + 4 * xs.first[x], q = start + 4 * xs.second[x], a = xs.near[x], b = xs.far[x];
    out[to] = source[p] * a + source[q] * b;
    out[to + 1] = source[p + 1] * a + source[q + 1] * b;
    out[to + 2] = source[p + 2] * a + source[q + 2] * b;
  }
}
