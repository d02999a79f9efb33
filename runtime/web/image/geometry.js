/** How a frame is placed in the network's input, as in `fastcam_runtime.image`. */

/**
 * A rectangle in pixels: left, top, width, height.
 * @typedef {{x: number, y: number, width: number, height: number}} Rect
 */

/**
 * The pixels in `seen` of the frame were resized to the pixels in `placed` of the input.
 * @typedef {{frame: [number, number], input: [number, number], seen: Rect, placed: Rect}} Geometry
 */

/**
 * Place a frame in an input; sizes are height and width.
 * @param {[number, number]} frame
 * @param {[number, number]} input
 * @param {"stretch" | "crop" | "letterbox"} resize
 * @param {string} placement Where a letterboxed frame is: `centre`, or `corner`, the upper left.
 * @returns {Geometry}
 */
export function lay(frame, input, resize, placement = "centre") {
  let seen = { x: 0, y: 0, width: frame[1], height: frame[0] };
  let placed = { x: 0, y: 0, width: input[1], height: input[0] };
  if (resize === "crop") seen = centred(fit(input, frame), frame);
  else if (resize === "letterbox") {
    placed = centred(fit(frame, input), input);
    if (placement === "corner") placed = { ...placed, x: 0, y: 0 };
  }
  return { frame, input, seen, placed };
}

/**
 * The largest height and width inside `room` with the aspect ratio of `shape`.
 * @param {[number, number]} shape
 * @param {[number, number]} room
 * @returns {[number, number]}
 */
function fit([h, w], [height, width]) {
  const scale = Math.min(height / h, width / w);
  return [Math.max(1, Math.min(height, roundHalfEven(h * scale))), Math.max(1, Math.min(width, roundHalfEven(w * scale)))];
}

/**
 * @param {[number, number]} size
 * @param {[number, number]} room
 * @returns {Rect}
 */
function centred(size, room) {
  const [height, width] = size;
  return { x: (room[1] - width) >> 1, y: (room[0] - height) >> 1, width, height };
}

/**
 * Round like Python: ties to even.
 * @param {number} value
 */
export function roundHalfEven(value) {
  const low = Math.floor(value), rest = value - low;
  if (rest !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

/**
 * A box (left, top, right, bottom) from pixels of the input to those of the frame, clipped to it.
 * @param {[number, number, number, number]} box
 * @param {Geometry} geometry
 * @returns {[number, number, number, number]}
 */
export function toFrame([left, top, right, bottom], { frame: [height, width], seen, placed }) {
  const across = (/** @type {number} */ x) => Math.min(width, Math.max(0, (x - placed.x) * seen.width / placed.width + seen.x));
  const down = (/** @type {number} */ y) => Math.min(height, Math.max(0, (y - placed.y) * seen.height / placed.height + seen.y));
  return [across(left), down(top), across(right), down(bottom)];
}
