/** The views: which output of the file each one shows, how it is drawn, and a sentence about it. */

import { MAP } from "../model/onnx.js";
import { limitsOf, paintFocus, paintMap } from "./focus.js";

const CAM = "saliency_cam", FASTCAM = "saliency_fastcam", NONCLASS = "saliency_nonclass", LOVI = "saliency_lovi";
const MAPS = [MAP, FASTCAM, CAM, NONCLASS];
const OF_CLASS = [FASTCAM, CAM, NONCLASS, MAP];
const LOVI_SHARE = 0.75;

/**
 * @typedef {import("../explainer.js").Explanation} Explanation
 * @typedef {{title: string, outputs: string[], says: string}} View
 */

/** @type {Record<string, View>} */
export const VIEWS = {
  overlay: { title: "Overlay", outputs: MAPS, says: "Where the network finds something informative, over the picture." },
  map: { title: "Map", outputs: MAPS, says: "The map alone: bright where the network finds something informative." },
  cam: { title: "CAM", outputs: [CAM], says: "Evidence for the class." },
  fastcam: { title: "Fast-CAM", outputs: [FASTCAM], says: "Evidence for the class, with the fine detail of the map." },
  nonclass: { title: "Non-class", outputs: [NONCLASS], says: "What the network looks at that is not evidence for the class." },
  lovi: { title: "LOVI", outputs: [LOVI], says: "Which layers respond: violet the first, red the last, white all of them." },
};

/**
 * The views that a file with these outputs can show.
 * @param {string[]} outputs
 */
export function availableViews(outputs) {
  return Object.keys(VIEWS).filter((view) => VIEWS[view].outputs.some((name) => outputs.includes(name)));
}

/**
 * The output that a view shows: the first of its own that the file has. With a chosen class, `overlay` and `map`
 * prefer the maps that depend on it.
 * @param {string} view
 * @param {string[]} outputs
 * @param {boolean} ofClass
 */
export function outputOf(view, outputs, ofClass = false) {
  const wanted = ofClass && VIEWS[view].outputs === MAPS ? OF_CLASS : VIEWS[view].outputs;
  const found = wanted.find((name) => outputs.includes(name));
  if (!found) throw new Error(`the view ${view} cannot be shown; possible: ${availableViews(outputs).join(", ")}`);
  return found;
}

/** Draws explanations on a canvas, with layers that are reused. */
export class Painter {
  constructor() {
    this.layer = makeCanvas(1, 1);
    /** @type {ImageData | null} */
    this.pixels = null;
  }

  /**
   * The picture of a view, at the frame's own size.
   * @param {HTMLCanvasElement | OffscreenCanvas} canvas
   * @param {Explanation} explanation
   * @param {CanvasImageSource | null} image The frame, as the canvas can draw it.
   * @param {string} view
   * @param {import("./focus.js").Limits | null} limits The overlay's; by default the map's own.
   */
  draw(canvas, explanation, image, view = "overlay", limits = null) {
    const { frame: [height, width], seen, placed } = explanation.geometry;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const map = explanation.maps[outputOf(view, Object.keys(explanation.maps))];
    context.globalAlpha = 1;
    context.globalCompositeOperation = "source-over";
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "high";
    if (view === "map" || !image) {
      context.fillStyle = "black";
      context.fillRect(0, 0, width, height);
    } else {
      context.drawImage(image, 0, 0, width, height);
      if (view === "lovi") fade(context, width, height);
    }
    this.paint(map, view, limits);
    const scale = map.width / explanation.geometry.input[1];
    context.globalAlpha = view === "lovi" ? LOVI_SHARE : 1;
    context.drawImage(
      this.layer, placed.x * scale, placed.y * scale, placed.width * scale, placed.height * scale,
      seen.x, seen.y, seen.width, seen.height,
    );
    context.globalAlpha = 1;
  }

  /**
   * @param {import("../explainer.js").SaliencyMap} map
   * @param {string} view
   * @param {import("./focus.js").Limits | null} limits
   */
  paint({ data, width, height, channels }, view, limits) {
    if (!this.pixels || this.pixels.width !== width || this.pixels.height !== height) {
      this.pixels = new ImageData(width, height);
      this.layer = makeCanvas(width, height);
    }
    const out = this.pixels.data;
    if (channels === 3) {
      for (let i = 0, j = 0; i < out.length; i += 4, j += 3) {
        out[i] = data[j];
        out[i + 1] = data[j + 1];
        out[i + 2] = data[j + 2];
        out[i + 3] = 255;
      }
    } else if (view === "map") {
      paintMap(/** @type {Float32Array} */ (data), out);
    } else {
      paintFocus(/** @type {Float32Array} */ (data), limits ?? limitsOf(/** @type {Float32Array} */ (data)), out);
    }
    /** @type {any} */ (this.layer.getContext("2d")).putImageData(this.pixels, 0, 0);
  }
}

/**
 * Convert the drawn frame to grey: LOVI has its own colours.
 * @param {CanvasRenderingContext2D} context
 * @param {number} width
 * @param {number} height
 */
function fade(context, width, height) {
  context.globalCompositeOperation = "saturation";
  context.fillStyle = "gray";
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = "source-over";
}

/**
 * @param {number} width
 * @param {number} height
 * @returns {HTMLCanvasElement | OffscreenCanvas}
 */
function makeCanvas(width, height) {
  if (typeof OffscreenCanvas !== "undefined") return new OffscreenCanvas(width, height);
  if (typeof document === "undefined") return /** @type {any} */ (null);
  return Object.assign(document.createElement("canvas"), { width, height });
}
