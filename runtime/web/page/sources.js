/** The sources of pictures: the camera, a photo, or the example clip. Each returns the newest frame as a bitmap. */

import { CAMERA_LOST, cameraError, whyNoCamera } from "./refusals.js";

/** Larger photos are resized to this size: more would not be visible, and costs memory. */
const LONGEST_SIDE = 2048;

/**
 * @typedef {{live: boolean, next: () => Promise<ImageBitmap | null>, close: () => void}} Source
 *   `live`: there is always a newer frame; otherwise there is one picture.
 */

/** @type {MediaTrackConstraints} */
const SIZE = { width: { ideal: 1280 }, height: { ideal: 720 } };

/** The camera; the one at the back by default. */
export class Camera {
  live = true;

  /**
   * @param {"environment" | "user"} facing
   * @returns {Promise<Camera>}
   * @throws {Error} A sentence for the user.
   */
  static async open(facing) {
    const reason = whyNoCamera();
    if (reason) throw new Error(reason);
    const video = document.createElement("video");
    video.muted = true;
    video.playsInline = true;
    try {
      video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: facing, ...SIZE }, audio: false });
      await video.play();
    } catch (error) {
      throw new Error(cameraError(error));
    }
    return new Camera(video, facing);
  }

  /** Whether there is another camera to switch to. */
  static async several() {
    const devices = await navigator.mediaDevices?.enumerateDevices() ?? [];
    return devices.filter(({ kind }) => kind === "videoinput").length > 1;
  }

  /**
   * @param {HTMLVideoElement} video
   * @param {"environment" | "user"} facing
   */
  constructor(video, facing) {
    this.video = video;
    this.facing = facing;
    this.closed = false;
    /** Ends the wait for a frame. */
    this.wake = () => {};
    this.tracks = /** @type {MediaStream} */ (video.srcObject).getTracks();
    this.lost = false;
    for (const track of this.tracks) track.addEventListener("ended", () => { this.lost = true; this.close(); });
  }

  /**
   * Wait for a new frame; null if the camera was closed meanwhile.
   * @throws {Error} The camera was taken away.
   */
  async next() {
    await new Promise((resolve) => {
      this.wake = () => resolve(undefined);
      if (this.closed) resolve(undefined);
      else if ("requestVideoFrameCallback" in this.video) this.video.requestVideoFrameCallback(resolve);
      else requestAnimationFrame(resolve);
    });
    if (this.lost) throw new Error(CAMERA_LOST);
    return this.closed ? null : createImageBitmap(this.video);
  }

  close() {
    this.closed = true;
    this.wake();
    this.tracks.forEach((track) => track.stop());
    this.video.srcObject = null;
  }
}

/** One photo. */
export class Photo {
  live = false;

  /**
   * @param {Blob} blob
   * @throws {Error} A sentence for the user.
   */
  static async open(blob) {
    try {
      const bitmap = await createImageBitmap(blob);
      const scale = LONGEST_SIDE / Math.max(bitmap.width, bitmap.height);
      if (scale >= 1) return new Photo(bitmap);
      const size = { resizeWidth: Math.round(bitmap.width * scale), resizeHeight: Math.round(bitmap.height * scale) };
      const smaller = await createImageBitmap(bitmap, { ...size, resizeQuality: "high" });
      bitmap.close();
      return new Photo(smaller);
    } catch {
      throw new Error("This browser cannot open the file as a picture. JPEG, PNG, GIF and WebP work.");
    }
  }

  /** @param {ImageBitmap} bitmap */
  constructor(bitmap) {
    this.bitmap = bitmap;
  }

  next() {
    return createImageBitmap(this.bitmap);
  }

  close() {
    this.bitmap.close();
  }
}

/** The example clip: a virtual camera pans over two photos. */
export class Clip {
  live = true;

  /** @param {string[]} files */
  static async open(files) {
    const photos = await Promise.all(files.map(async (file) => createImageBitmap(await (await fetch(file)).blob())));
    return new Clip(photos);
  }

  /** @param {ImageBitmap[]} photos */
  constructor(photos) {
    this.photos = photos;
    const canvas = new OffscreenCanvas(480, 360);
    this.context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.started = performance.now();
    this.closed = false;
  }

  async next() {
    await new Promise(requestAnimationFrame);
    if (this.closed) return null;
    const seconds = (performance.now() - this.started) / 1000;
    const photo = this.photos[Math.floor(seconds / 5) % this.photos.length];
    const { width, height } = this.context.canvas;
    const zoom = Math.max(width / photo.width, height / photo.height) * (1.1 + 0.1 * Math.sin(seconds));
    const [w, h] = [photo.width * zoom, photo.height * zoom];
    const way = (1 + Math.sin(seconds * 0.7)) / 2;
    this.context.drawImage(photo, (width - w) * way, (height - h) / 2, w, h);
    return createImageBitmap(this.context.canvas);
  }

  close() {
    this.closed = true;
    this.photos.forEach((photo) => photo.close());
  }
}
