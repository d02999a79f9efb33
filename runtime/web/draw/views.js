/** The views: which output of the file each one shows, how it is drawn, and a sentence about it. */

import { MAP } from "../model/onnx.js";
import { drawBoxes } from "./boxes.js";
import { limitsOf, partOf } from "./contrast.js";
import { Layer, UNSEEN } from "./focus.js";

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
    this.canvas = makeCanvas(1, 1);
    this.layer = new Layer();
    /** @type {ImageData | null} */
    this.pixels = null;
  }

  /**
   * The picture of a view, at the frame's own size.
   * @param {HTMLCanvasElement | OffscreenCanvas} canvas
   * @param {Explanation} explanation
   * @param {CanvasImageSource | null} image The frame, as the canvas can draw it.
   * @param {string} view
   * @param {import("./contrast.js").Limits | null} limits The overlay's; by default the map's own.
   */
  draw(canvas, explanation, image, view = "overlay", limits = null) {
    const { frame: [height, width], seen } = explanation.geometry;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const context = contextOf(canvas);
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
      else if (seen.width !== width || seen.height !== height) darken(context, image, seen);
    }
    const part = partOf(map, explanation.geometry);
    if (map.channels === 3) this.paintColours(map);
    else this.paint(/** @type {import("./contrast.js").Map} */ (map), part, view, limits, [seen.height, seen.width]);
    const { x, y, width: w, height: h } = map.channels === 3 ? part : { ...seen, x: 0, y: 0 };
    context.globalAlpha = view === "lovi" ? LOVI_SHARE : 1;
    context.drawImage(this.canvas, x, y, w, h, seen.x, seen.y, seen.width, seen.height);
    context.globalAlpha = 1;
    drawBoxes(context, explanation.detections);
  }

  /**
   * A map without colours of its own, at the size of the frame.
   * @param {import("./contrast.js").Map} map
   * @param {import("../image/geometry.js").Rect} part
   * @param {string} view
   * @param {import("./contrast.js").Limits | null} limits
   * @param {[number, number]} size
   */
  paint(map, part, view, limits, size) {
    const pixels = this.fit(size);
    if (view === "map") this.layer.alone(map, part, size, pixels.data);
    else this.layer.focus(map, part, limits ?? limitsOf(map, part), size, pixels.data);
    contextOf(this.canvas).putImageData(pixels, 0, 0);
  }

  /**
   * LOVI, at its own size.
   * @param {import("../explainer.js").SaliencyMap} map
   */
  paintColours({ data, width, height }) {
    const pixels = this.fit([height, width]), out = pixels.data;
    for (let i = 0, j = 0; i < out.length; i += 4, j += 3) {
      out[i] = data[j];
      out[i + 1] = data[j + 1];
      out[i + 2] = data[j + 2];
      out[i + 3] = 255;
    }
    contextOf(this.canvas).putImageData(pixels, 0, 0);
  }

  /** @param {[number, number]} size */
  fit([height, width]) {
    if (!this.pixels || this.pixels.width !== width || this.pixels.height !== height) {
      this.pixels = new ImageData(width, height);
      this.canvas = makeCanvas(width, height);
    }
    return this.pixels;
  }
}

/**
 * @param {HTMLCanvasElement | OffscreenCanvas} canvas
 * @returns {CanvasRenderingContext2D}
 */
function contextOf(canvas) {
  return /** @type {any} */ (canvas.getContext("2d"));
}

/**
 * Darken the area of the frame that the network does not see.
 * @param {CanvasRenderingContext2D} context
 * @param {CanvasImageSource} image
 * @param {import("../image/geometry.js").Rect} seen
 */
function darken(context, image, { x, y, width, height }) {
  context.fillStyle = `rgb(0 0 0 / ${1 - UNSEEN})`;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
  context.drawImage(image, x, y, width, height, x, y, width, height);
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
