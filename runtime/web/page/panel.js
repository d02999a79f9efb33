/** The panel beside the picture: the class, the views and their legend, the figures. */

import { candidates, labelOf } from "../classes.js";
import { INFERNO } from "../draw/colormap.js";
import { VIEWS, availableViews } from "../draw/views.js";

/**
 * @param {string} id
 * @returns {any}
 */
export const element = (id) => document.getElementById(id);

const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)} %`;
const SLOWER = 0.15;
const RATE = "fps";
/** Detections in the list. */
const LISTED = 5;

/**
 * Buttons for the views of a file.
 * @param {string[]} outputs
 * @param {(view: string) => void} choose
 */
export function showViews(outputs, choose) {
  element("views").replaceChildren(...availableViews(outputs).map((view) => {
    const button = document.createElement("button");
    button.textContent = VIEWS[view].title;
    button.dataset.view = view;
    button.addEventListener("click", () => choose(view));
    return button;
  }));
  const bar = element("bar").getContext("2d");
  const ramp = bar.createImageData(256, 1);
  for (let i = 0; i < 256; i++) ramp.data.set([...INFERNO.subarray(3 * i, 3 * i + 3), 255], 4 * i);
  bar.putImageData(ramp, 0, 0);
}

/**
 * @param {string} view
 * @param {import("../model/onnx.js").Metadata} metadata
 */
export function markView(view, metadata) {
  for (const button of element("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === view));
  element("says").textContent = VIEWS[view].says;
  element("legend").hidden = view === "lovi";
  element("layers").hidden = view !== "lovi";
  if (view === "lovi") showLayers(metadata.taps);
}

/**
 * The colour of each scale in LOVI, shallow to deep.
 * @param {import("../model/onnx.js").Tap[]} taps
 */
function showLayers(taps) {
  element("layers").replaceChildren(...taps.map(({ shape }, k) => {
    const item = document.createElement("li"), dot = document.createElement("canvas");
    dot.width = dot.height = 1;
    const context = /** @type {CanvasRenderingContext2D} */ (dot.getContext("2d"));
    const hue = taps.length > 1 ? 300 * (1 - k / (taps.length - 1)) : 0;
    context.fillStyle = `hsl(${hue} 100% 50%)`;
    context.fillRect(0, 0, 1, 1);
    item.append(dot, `layer ${k + 1}: ${shape[3] ?? "?"}×${shape[2] ?? "?"}`);
    return item;
  }));
}

/**
 * @param {import("./engine.js").Answer} answer
 * @param {boolean} chosen
 */
export function showClasses({ label, score, top }, chosen) {
  const first = top[0];
  if (!first) return;
  setText("label", first.label);
  setText("score", percent(first.score));
  element("explained").hidden = !chosen;
  if (chosen) setText("explained", `The map is for “${label}” (${percent(score ?? 0)}).`);
  showList(top, top.length);
}

/**
 * What a detector found: how many, and the best of them.
 * @param {import("./engine.js").Answer} answer
 * @param {boolean} chosen
 */
export function showDetections({ detections, label }, chosen) {
  setText("label", detections.length ? `${detections.length} found` : "Nothing found");
  setText("score", "");
  element("explained").hidden = !chosen;
  if (chosen) setText("explained", `The map is for “${label}”.`);
  showList(detections.slice(0, LISTED), LISTED);
}

/**
 * Labels with their scores as bars.
 * @param {{label: string, score: number}[]} found
 * @param {number} lines At least so many lines, so that the page does not move when less is found.
 */
function showList(found, lines) {
  const list = element("top");
  while (list.children.length < lines) {
    const item = document.createElement("li");
    item.append(document.createElement("i"), document.createElement("span"), document.createElement("span"));
    list.append(item);
  }
  [...list.children].forEach((item, i) => {
    const [bar, name, share] = item.children, { label, score } = found[i] ?? { label: "", score: 0 };
    bar.style.transform = `scaleX(${score})`;
    if (name.textContent !== label) name.textContent = label;
    share.textContent = label && percent(score);
  });
}

/**
 * @param {string} id
 * @param {string} text
 */
export function setText(id, text) {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

/** Frames per second and milliseconds by stage, smoothed. */
export class Figures {
  constructor() {
    /** @type {Map<string, {value: number, cell: HTMLElement}>} */
    this.rows = new Map();
    this.last = 0;
  }

  /** @param {Record<string, number>} stages Milliseconds. */
  add(stages) {
    const now = performance.now();
    if (this.last) this.set(RATE, 1000 / (now - this.last), "");
    for (const [stage, value] of Object.entries(stages)) this.set(stage, value, " ms");
    this.last = now;
  }

  /** There is no frame rate for now. */
  rest() {
    this.last = 0;
    this.rows.get(RATE)?.cell.parentElement?.remove();
    this.rows.delete(RATE);
  }

  /**
   * @param {string} name
   * @param {number} value
   * @param {string} unit
   */
  set(name, value, unit) {
    let row = this.rows.get(name);
    if (!row) {
      const group = document.createElement("div"), title = document.createElement("dt"), cell = document.createElement("dd");
      title.textContent = name;
      cell.dataset.figure = name;
      group.append(title, cell);
      element("figures")[name === RATE ? "prepend" : "append"](group);
      this.rows.set(name, row = { value, cell });
    }
    row.value += (this.last ? SLOWER : 1) * (value - row.value);
    row.cell.textContent = `${row.value.toFixed(1)}${unit}`;
  }
}

/**
 * The input for the class, with candidates below.
 * @param {string[]} labels
 * @param {(index: number | null) => void} choose
 */
export function connectChooser(labels, choose) {
  const input = element("class"), list = element("candidates"), reset = element("best");
  let marked = 0;
  const show = (/** @type {boolean} */ shown) => {
    list.hidden = !shown;
    input.setAttribute("aria-expanded", String(shown));
    mark(0);
  };
  const mark = (/** @type {number} */ which) => {
    marked = which;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === marked)));
    input.setAttribute("aria-activedescendant", list.hidden ? "" : list.children[marked].id);
  };
  const pick = (/** @type {number | null} */ index) => {
    show(false);
    input.value = index === null ? "" : labelOf(index, labels);
    reset.hidden = index === null;
    input.blur();
    choose(index);
  };
  const suggest = () => {
    const number = /^\d+$/.test(input.value) && Number(input.value) < (labels.length || Infinity) ? [Number(input.value)] : [];
    const found = [...number, ...candidates(input.value, labels, 6)];
    list.replaceChildren(...found.map((index, i) => {
      const item = document.createElement("li");
      item.textContent = labelOf(index, labels);
      item.id = `candidate${i}`;
      item.setAttribute("role", "option");
      item.dataset.index = String(index);
      item.addEventListener("pointerdown", (event) => event.preventDefault());
      item.addEventListener("click", () => pick(index));
      return item;
    }));
    show(found.length > 0);
    // The keyboard of a phone would cover the candidates.
    element("chooser").scrollIntoView();
    input.setCustomValidity(input.value && !found.length ? `no class “${input.value}”` : "");
  };
  input.addEventListener("input", suggest);
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", () => show(false));
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !list.hidden) {
      mark((marked + step + list.children.length) % list.children.length);
      event.preventDefault();
    } else if (event.key === "Enter") {
      if (!input.value) pick(null);
      else if (!list.hidden) pick(Number(list.children[marked].dataset.index));
      else input.reportValidity();
    } else if (event.key === "Escape") {
      if (list.hidden) pick(null);
      else show(false);
      event.preventDefault();
    }
  });
  reset.addEventListener("click", () => pick(null));
}
