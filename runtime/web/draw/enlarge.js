/** Bytes of one channel at another size: bilinear, in the fixed-point arithmetic of OpenCV. */

import { neighbours } from "../image/resize.js";

/** Resizes from one size to another, line by line, in buffers that are reused. */
export class Enlarge {
  /**
   * @param {[number, number]} from Height and width.
   * @param {[number, number]} to
   */
  constructor(from, to) {
    this.from = from;
    this.to = to;
    this.ys = neighbours(from[0], to[0], true);
    this.xs = neighbours(from[1], to[1], false);
    this.line = new Uint8Array(to[1]);
    this.upper = new Int32Array(to[1]);
    this.lower = new Int32Array(to[1]);
  }

  /**
   * @param {Uint8Array} source
   * @param {(line: Uint8Array, y: number) => void} each Called for each line of the result, which it must not keep.
   */
  run(source, each) {
    const { ys, line } = this;
    let above = -1, below = -1;
    for (let y = 0; y < this.to[0]; y++) {
      if (ys.first[y] === below) {
        [this.upper, this.lower] = [this.lower, this.upper];
        [above, below] = [below, above];
      }
      if (ys.first[y] !== above) this.mix(source, above = ys.first[y], this.upper);
      if (ys.second[y] !== below) this.mix(source, below = ys.second[y], this.lower);
      const { upper, lower } = this, a = ys.near[y], b = ys.far[y];
      for (let x = 0; x < line.length; x++) {
        line[x] = (((a * (upper[x] >> 4)) >> 16) + ((b * (lower[x] >> 4)) >> 16) + 2) >> 2;
      }
      each(line, y);
    }
  }

  /**
   * @param {Uint8Array} source
   * @param {number} row
   * @param {Int32Array} out
   */
  mix(source, row, out) {
    const { first, second, near, far } = this.xs, start = row * this.from[1];
    for (let x = 0; x < out.length; x++) out[x] = source[start + first[x]] * near[x] + source[start + second[x]] * far[x];
  }
}
