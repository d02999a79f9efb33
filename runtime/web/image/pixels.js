/** The pixels of anything that a browser can draw. */

/** @typedef {import("./preprocess.js").Pixels} Pixels */

/** Reads pictures through one canvas, which is reused. */
export class PixelReader {
  constructor() {
    /** @type {OffscreenCanvasRenderingContext2D | null} */
    this.context = null;
  }

  /**
   * RGBA of a picture; a source with `data` is returned unchanged.
   * @param {Pixels | ImageBitmap | HTMLCanvasElement | OffscreenCanvas | HTMLVideoElement | HTMLImageElement} source
   * @returns {Pixels}
   */
  read(source) {
    if (typeof source !== "object" || source === null) {
      throw new Error(`a picture is {data, width, height} or something to draw, not a ${typeof source}`);
    }
    if ("data" in source) return check(source);
    const any = /** @type {any} */ (source);
    const width = any.videoWidth ?? any.naturalWidth ?? any.width, height = any.videoHeight ?? any.naturalHeight ?? any.height;
    if (!width || !height) throw new Error("the picture has no pixels yet");
    if (this.context?.canvas.width !== width || this.context?.canvas.height !== height) {
      this.context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    }
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (this.context);
    context.drawImage(any, 0, 0);
    return context.getImageData(0, 0, width, height);
  }
}

/**
 * @param {Pixels} picture
 */
function check(picture) {
  const { data, width, height } = picture;
  if (!(width > 0 && height > 0) || data.length !== 4 * width * height) {
    throw new Error(`a picture is {data, width, height} with 4 bytes per pixel, not ${data.length} for ${width}×${height}`);
  }
  return picture;
}
