/** The page: one source, one loop, one picture; the rest shows the latest explanation. */

import { SmoothLimits, partOf } from "../draw/contrast.js";
import { Painter, outputOf } from "../draw/views.js";
import { Engine } from "./engine.js";
import { describe, evaluate } from "./measure.js";
import { Figures, connectChooser, element, markView, setText, showClasses, showDetections, showViews } from "./panel.js";
import { loadError, whyNoCamera, whyNot } from "./refusals.js";
import { keepEverything, readSite, startServiceWorker } from "./site.js";
import { Camera, Clip, Photo } from "./sources.js";
import { tryGpu } from "./webgpu.js";

const MEASURED_ROUNDS = 40;

class Page {
  /**
   * @param {import("./site.js").Site} site
   * @param {Engine} engine
   * @param {import("./engine.js").Loaded} loaded
   */
  constructor(site, engine, loaded) {
    this.site = site;
    this.engine = engine;
    this.loaded = loaded;
    this.canvas = element("picture");
    this.painter = new Painter();
    this.limits = new SmoothLimits();
    this.figures = new Figures();
    this.view = "overlay";
    /** @type {number | null} */
    this.chosen = null;
    /** @type {import("./sources.js").Source | null} */
    this.source = null;
    /** @type {import("./engine.js").Answer | null} */
    this.answer = null;
    this.paused = false;
    this.busy = false;
    /** The displayed picture is not of this source, view or class. */
    this.stale = false;
    /** @type {"environment" | "user"} */
    this.facing = "environment";
    this.gpuTried = false;
    showViews(loaded.outputs, (view) => this.setView(view));
    markView(this.view, loaded.metadata);
    element("chooser").hidden = !loaded.hasClassMaps;
    connectChooser(loaded.metadata.labels, (index) => this.setClass(index));
    this.tellNote();
  }

  tellNote(more = "") {
    const notes = [`${this.site.file} on ${this.engine.name}${more}.`];
    if (this.loaded.quantized) notes.push("This file is quantised: in a browser float32 or float16 is faster.");
    setText("note", notes.join(" "));
  }

  /**
   * Show pictures of another source.
   * @param {() => Promise<import("./sources.js").Source>} open
   */
  async show(open) {
    tell("");
    try {
      const source = await open();
      this.source?.close();
      this.source = source;
      this.answer = null;
    } catch (error) {
      return tell(/** @type {Error} */ (error).message);
    }
    this.showStart(false);
    const { live } = this.source;
    element("pause").hidden = !live;
    // Said once for a photo; the classes of a camera change all the time.
    element("result").setAttribute("aria-live", live ? "off" : "polite");
    this.stale = true;
    this.setPaused(false);
    element("switch").hidden = !(this.source instanceof Camera && await Camera.several());
  }

  showCamera() {
    return this.show(() => Camera.open(this.facing));
  }

  /** Explain the newest frame repeatedly; a photo, or a paused picture, only if it is stale. */
  async loop() {
    if (this.busy) return;
    this.busy = true;
    try {
      for (;;) {
        const { source } = this, frame = await this.nextFrame();
        if (source !== this.source) frame?.close();
        else if (frame) await this.explain(frame);
        else break;
      }
    } catch (error) {
      tell(/** @type {Error} */ (error).message);
    } finally {
      this.busy = false;
      this.figures.rest();
    }
  }

  /** The picture to explain next; null if there is none for now. */
  async nextFrame() {
    const { source, answer } = this, moving = source?.live && !this.paused;
    if (!source || document.hidden || !(moving || this.stale)) return null;
    if (this.stale) this.limits.reset();
    this.stale = false;
    return source.live && !moving && answer ? createImageBitmap(answer.image) : source.next();
  }

  /** @param {ImageBitmap} frame */
  async explain(frame) {
    const started = performance.now();
    // View and source may change before the answer is there, which has the map of these.
    const { view, source } = this, output = outputOf(view, this.loaded.outputs, this.chosen !== null);
    const answer = await this.engine.explain(frame, this.chosen, [output]);
    if (source !== this.source) return answer.image.close();
    this.answer?.image.close();
    this.answer = answer;
    const drawn = performance.now();
    this.draw(answer, view);
    const { inference: network, ...stages } = answer.timings;
    const now = performance.now();
    this.figures.add({ ...stages, network, draw: now - drawn, total: now - started });
    if (this.loaded.metadata.detector) showDetections(answer, this.chosen !== null);
    else showClasses(answer, this.chosen !== null);
    this.canvas.answer = answer;
    if (!this.gpuTried && this.site.webgpu) this.considerGpu(answer.image);
  }

  /**
   * @param {import("./engine.js").Answer} answer
   * @param {string} view
   */
  draw(answer, view) {
    const [map] = Object.values(answer.maps);
    const limits = map.channels === 1
      ? this.limits.next(/** @type {import("../draw/contrast.js").Map} */ (map), partOf(map, answer.geometry)) : null;
    this.painter.draw(this.canvas, answer, answer.image, view, limits);
  }

  /** @param {ImageBitmap} image */
  async considerGpu(image) {
    this.gpuTried = true;
    try {
      const copy = await createImageBitmap(image);
      const better = await tryGpu(this.engine, this.site, copy, outputOf("map", this.loaded.outputs));
      copy.close();
      const old = this.engine;
      this.engine = better;
      // The last picture may still be in the old engine.
      setTimeout(() => old.close(), 5000);
      this.tellNote();
    } catch (error) {
      this.tellNote(` (WebGPU: ${/** @type {Error} */ (error).message})`);
    }
  }

  /** @param {string} view */
  setView(view) {
    this.view = view;
    markView(view, this.loaded.metadata);
    this.again();
  }

  /** @param {number | null} index */
  setClass(index) {
    this.chosen = index;
    if (index !== null && !["cam", "fastcam", "nonclass"].includes(this.view)) {
      this.view = this.loaded.outputs.includes("saliency_fastcam") ? "fastcam" : "cam";
      markView(this.view, this.loaded.metadata);
    }
    this.again();
  }

  /** Explain the picture for another source, view or class. */
  again() {
    this.stale = true;
    this.loop();
  }

  /** @param {boolean} paused */
  setPaused(paused) {
    this.paused = paused;
    element("held").hidden = !paused;
    element("pause").textContent = paused ? "Resume" : "Pause";
    if (!paused) this.resume();
  }

  /** Go on, with a new camera if the old one was closed. */
  resume() {
    if (this.source instanceof Camera && this.source.closed) this.showCamera();
    else this.loop();
  }

  /** Release the camera while the page is hidden; resume when it is visible, unless it is paused. */
  visibilityChanged() {
    if (document.hidden) {
      if (this.source instanceof Camera) this.source.close();
    } else if (!this.paused) this.resume();
  }

  /** The picture as a file. */
  async picture() {
    const blob = await new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
    const name = (this.answer?.label || "picture").replace(/[^\p{L}\p{N}]+/gu, "-");
    return new File([blob], `fastcam-${name}-${this.view}.png`, { type: "image/png" });
  }

  async save() {
    const file = await this.picture();
    const url = URL.createObjectURL(file);
    Object.assign(document.createElement("a"), { href: url, download: file.name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  async share() {
    const file = await this.picture();
    // Closing the share dialog is not an error.
    await navigator.share({ files: [file], title: this.answer?.label }).catch(() => {});
  }

  async measure() {
    const button = element("measure"), wasPaused = this.paused;
    button.disabled = true;
    this.setPaused(true);
    this.engine.onProgress = (share) => { button.textContent = `Measuring… ${Math.round(100 * share)} %`; };
    try {
      const figures = evaluate(await this.engine.measure(MEASURED_ROUNDS));
      setText("reporttext", describe(figures, this.engine.name, this.site.file));
      setText("copy", "Copy");
      element("report").hidden = false;
    } catch (error) {
      tell(/** @type {Error} */ (error).message);
    }
    button.textContent = "Measure what the maps cost";
    button.disabled = false;
    this.setPaused(wasPaused);
  }

  reset() {
    this.source?.close();
    this.source = null;
    this.showStart(true);
  }

  /** @param {boolean} shown The buttons of the sources; else those of the picture. */
  showStart(shown) {
    // The focus would be lost with a hidden button.
    if (element("start").hidden === shown) element("stage").focus();
    element("start").hidden = !shown;
    element("panel").hidden = element("actions").hidden = shown;
  }
}

/** @param {string} text Empty: nothing is wrong. */
function tell(text) {
  element("error").hidden = !text;
  setText("error", text);
}

/** @param {Page} page */
function connect(page) {
  const file = element("file");
  const open = (/** @type {Blob | null | undefined} */ blob) => { if (blob) page.show(() => Photo.open(blob)); };
  const on = (/** @type {string} */ id, /** @type {() => unknown} */ handler) => element(id).addEventListener("click", handler);
  on("camera", () => page.showCamera());
  on("photo", () => file.click());
  on("clip", () => page.show(() => Clip.open(page.site.clip)));
  on("pause", () => page.setPaused(!page.paused));
  on("switch", () => {
    page.facing = page.facing === "user" ? "environment" : "user";
    page.source?.close();
    page.showCamera();
  });
  on("save", () => page.save());
  on("share", () => page.share());
  on("other", () => page.reset());
  on("measure", () => page.measure());
  on("copy", () => navigator.clipboard.writeText(element("reporttext").textContent).then(() => setText("copy", "Copied")));
  file.addEventListener("change", () => { open(file.files[0]); file.value = ""; });
  document.addEventListener("visibilitychange", () => page.visibilityChanged());
  document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("drop"); });
  document.addEventListener("dragleave", () => document.body.classList.remove("drop"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("drop");
    open(event.dataTransfer?.files[0]);
  });
  document.addEventListener("paste", (event) => open(event.clipboardData?.files[0]));
  const test = new File([], "picture.png", { type: "image/png" });
  element("share").hidden = !navigator.canShare?.({ files: [test] });
  element("copy").hidden = !navigator.clipboard;
}

async function start() {
  try {
    const refusal = whyNot();
    if (refusal) return setText("status", refusal);
    // The worker starts while the list of files is read.
    const engine = new Engine("wasm");
    const site = await readSite();
    await startServiceWorker(site.version);
    engine.onProgress = (share) => { element("progress").value = share; };
    const loaded = await engine.load(site);
    connect(new Page(site, engine, loaded));
    setText("status", whyNoCamera() || `${site.file} is ready.`);
    for (const id of ["camera", "photo", "clip"]) element(id).disabled = id === "camera" && whyNoCamera() !== "";
    document.body.dataset.ready = String(Math.round(performance.now()));
    keepEverything();
  } catch (error) {
    setText("status", loadError(error));
  } finally {
    element("progress").hidden = true;
  }
}

start();
