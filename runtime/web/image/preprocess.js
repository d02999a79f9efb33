/** From an RGBA picture of any size to the network's input tensor, with the geometry to map it back. */

import { lay } from "./geometry.js";
import { Shrink } from "./resize.js";

/**
 * A picture: RGBA, row by row.
 * @typedef {{data: Uint8Array | Uint8ClampedArray, width: number, height: number}} Pixels
 * @typedef {Float32Array | Float64Array | Uint16Array | Uint8Array} Elements
 */

/** Pixels of all pictures of a batch, as in `fastcam_runtime.limits`. */
export const MAX_PIXELS = 2 ** 23;

/** Turns pictures into input tensors, in buffers that are reused while their size stays the same. */
export class Preprocessor {
  /**
   * @param {import("../model/onnx.js").Metadata} metadata
   * @param {string} type Element type of the input: float32, float16, float64 or uint8.
   * @param {number} batch First dimension of the tensor; the picture goes to item 0.
   */
  constructor(metadata, type, batch = 1) {
    const { channels, height, width, layout } = metadata.image;
    if (batch * height * width > MAX_PIXELS) {
      throw new Error(`the image input is ${batch} × ${height}×${width}: ${MAX_PIXELS} pixels are the limit`);
    }
    this.metadata = metadata;
    this.planar = layout !== "NHWC";
    this.dims = this.planar ? [batch, channels, height, width] : [batch, height, width, channels];
    this.tables = tables(metadata.preprocess, type);
    this.tensor = elements(type, this.dims.reduce((a, b) => a * b));
    /** @type {Shrink | null} */
    this.shrink = null;
    this.size = "";
    this.cropped = new Uint8Array(0);
    this.geometry = lay([1, 1], [height, width], "stretch");
  }

  /**
   * The input tensor, overwritten by the next call, and the geometry.
   * @param {Pixels} picture
   */
  run(picture) {
    const size = `${picture.width}×${picture.height}`;
    if (size !== this.size) this.prepare(picture, size);
    const { seen, placed } = this.geometry;
    let pixels = picture.data;
    if (seen.width !== picture.width || seen.height !== picture.height) pixels = this.crop(picture);
    const small = /** @type {Shrink} */ (this.shrink).run(pixels);
    this.fill(small, placed);
    return { tensor: this.tensor, dims: this.dims, geometry: this.geometry };
  }

  /**
   * @param {Pixels} picture
   * @param {string} size
   */
  prepare(picture, size) {
    const { height, width } = this.metadata.image;
    const { pad = null, placement = "centre" } = this.metadata.preprocess;
    this.geometry = lay([picture.height, picture.width], [height, width], this.metadata.resize, placement);
    const { seen, placed } = this.geometry;
    this.shrink = new Shrink([seen.height, seen.width], [placed.height, placed.width]);
    this.size = size;
    this.tensor.fill(0);
    if (pad !== null) this.fill(new Uint8Array(4 * width * height).fill(pad), { x: 0, y: 0, width, height });
  }

  /** @param {Pixels} picture */
  crop({ data, width }) {
    const { seen } = this.geometry;
    if (this.cropped.length !== 4 * seen.width * seen.height) this.cropped = new Uint8Array(4 * seen.width * seen.height);
    for (let y = 0; y < seen.height; y++) {
      const start = 4 * ((seen.y + y) * width + seen.x);
      this.cropped.set(data.subarray(start, start + 4 * seen.width), 4 * y * seen.width);
    }
    return this.cropped;
  }

  /**
   * @param {Uint8Array | Uint8ClampedArray} pixels
   * @param {import("./geometry.js").Rect} placed
   */
  fill(pixels, placed) {
    const { order } = this.metadata.preprocess;
    const { width, height } = this.metadata.image;
    const sources = order === "BGR" ? [2, 1, 0] : order === "RGB" ? [0, 1, 2] : [-1];
    const [stride, plane] = this.planar ? [1, width * height] : [sources.length, 1];
    sources.forEach((source, c) => {
      const table = this.tables[c];
      for (let y = 0, from = 0; y < placed.height; y++) {
        let to = c * plane + stride * ((placed.y + y) * width + placed.x);
        for (let x = 0; x < placed.width; x++, from += 4, to += stride) {
          this.tensor[to] = table[source < 0 ? gray(pixels, from) : pixels[from + source]];
        }
      }
    });
  }
}

/**
 * The gray value as OpenCV computes it.
 * @param {Uint8Array | Uint8ClampedArray} pixels
 * @param {number} at
 */
function gray(pixels, at) {
  return (pixels[at] * 9798 + pixels[at + 1] * 19235 + pixels[at + 2] * 3735 + 16384) >> 15;
}

/**
 * Per channel, the value of the tensor for each of the 256 values of a pixel.
 * @param {import("../model/onnx.js").Preprocess} preprocess
 * @param {string} type
 */
function tables({ mean, std }, type) {
  return mean.map((centre, c) => {
    const table = elements(type, 256);
    for (let value = 0; value < 256; value++) {
      const exact = (value - centre) / std[c];
      if (type === "float16") table[value] = toHalf(exact);
      else table[value] = type === "uint8" ? Math.min(255, Math.max(0, Math.round(exact))) : exact;
    }
    return table;
  });
}

/**
 * @param {string} type
 * @param {number} size
 * @returns {Elements}
 */
function elements(type, size) {
  if (type === "float32") return new Float32Array(size);
  if (type === "float16") return new Uint16Array(size);
  if (type === "float64") return new Float64Array(size);
  if (type === "uint8") return new Uint8Array(size);
  throw new Error(`the image input takes ${type}, not one of float32, float16, float64, uint8`);
}

/**
 * The bits of a number as float16, rounded to nearest, ties to even.
 * @param {number} value
 */
export function toHalf(value) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 2 ** -24)));
  const steps = size / 2 ** (exponent - 10);
  const low = Math.floor(steps), rest = steps - low;
  const mantissa = rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  // A mantissa that overflows carries into the exponent; a subnormal number has exponent 0.
  return sign | (mantissa + (exponent > -15 && size >= 2 ** -14 ? (exponent + 14) * 1024 : 0));
}

/**
 * The number with these float16 bits.
 * @param {number} bits
 */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + mantissa) : 2 ** -24 * mantissa);
}
