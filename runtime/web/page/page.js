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
    } catch (error) {
      return tell(/** @type {Error} */ (error).message);
    }
    this.limits.reset();
    this.setPaused(false);
    element("start").hidden = true;
    element("panel").hidden = element("actions").hidden = false;
    element("pause").hidden = !this.source.live;
    element("switch").hidden = !(this.source instanceof Camera && await Camera.several());
    return this.loop();
  }

  showCamera() {
    return this.show(() => Camera.open(this.facing));
  }

  /** Explain the newest frame repeatedly, until the page is paused, hidden or closed. */
  async loop() {
    if (this.busy) return;
    this.busy = true;
    try {
      do {
        const source = this.source;
        if (!source || document.hidden) break;
        const frame = await source.next();
        if (!frame) break;
        if (source !== this.source) frame.close();
        else await this.explain(frame);
      } while (this.source?.live && !this.paused);
    } catch (error) {
      tell(/** @type {Error} */ (error).message);
    } finally {
      this.busy = false;
      this.figures.rest();
    }
  }

  /** @param {ImageBitmap} frame */
  async explain(frame) {
    const started = performance.now();
    // The view may change before the answer is there, which has the map of this one.
    const { view } = this, output = outputOf(view, this.loaded.outputs, this.chosen !== null);
    const answer = await this.engine.explain(frame, this.chosen, [output]);
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
    this.limits.reset();
    markView(view, this.loaded.metadata);
    this.again();
  }

  /** @param {number | null} index */
  setClass(index) {
    this.chosen = index;
    this.limits.reset();
    if (index !== null && !["cam", "fastcam", "nonclass"].includes(this.view)) {
      this.view = this.loaded.outputs.includes("saliency_fastcam") ? "fastcam" : "cam";
      markView(this.view, this.loaded.metadata);
    }
    this.again();
  }

  /** Explain the displayed picture again if no new one comes: the source is not live, or paused. */
  async again() {
    if (!this.answer || (this.source?.live && !this.paused)) return;
    await this.explain(await createImageBitmap(this.answer.image));
  }

  /** @param {boolean} paused */
  setPaused(paused) {
    this.paused = paused;
    element("held").hidden = !paused;
    element("pause").textContent = paused ? "Resume" : "Pause";
    element("pause").setAttribute("aria-pressed", String(paused));
    if (!paused) this.loop();
  }

  /** Release the camera while the page is hidden, and open it again when it is visible. */
  async visibilityChanged() {
    if (document.hidden) {
      if (this.source instanceof Camera) this.source.close();
    } else if (this.source instanceof Camera && !this.paused) await this.showCamera();
    else if (!this.paused) this.loop();
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
    element("start").hidden = false;
    element("panel").hidden = element("actions").hidden = true;
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
  on("copy", () => navigator.clipboard?.writeText(element("reporttext").textContent));
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
}

async function start() {
  const refusal = whyNot();
  if (refusal) return setText("status", refusal);
  try {
    // The worker starts while the list of files is read.
    const engine = new Engine("wasm");
    const site = await readSite();
    await startServiceWorker(site.version);
    engine.onProgress = (share) => { element("progress").value = share; };
    const loaded = await engine.load(site);
    connect(new Page(site, engine, loaded));
    setText("status", whyNoCamera() || `${site.file} is ready.`);
    for (const id of ["camera", "photo", "clip"]) element(id).disabled = id === "camera" && whyNoCamera() !== "";
    element("progress").hidden = true;
    document.body.dataset.ready = String(Math.round(performance.now()));
    keepEverything();
  } catch (error) {
    setText("status", loadError(error));
    element("progress").hidden = true;
  }
}

start();
