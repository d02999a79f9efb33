/** Run ONNX files with saliency maps inside, made by `fastcam export`, in a browser, a worker or node. */

export interface Pixels {
  /** RGBA, row by row. */
  data: Uint8Array | Uint8ClampedArray;
  width: number;
  height: number;
}

export type Picture =
  | Pixels | ImageBitmap | HTMLCanvasElement | OffscreenCanvas | HTMLVideoElement | HTMLImageElement;

export interface Rect { x: number; y: number; width: number; height: number }

/** The pixels in `seen` of the picture were resized to the pixels in `placed` of the network's input. */
export interface Geometry {
  /** Height and width of the picture. */
  frame: [number, number];
  /** Height and width of the network's input. */
  input: [number, number];
  seen: Rect;
  placed: Rect;
}

export interface SaliencyMap {
  /** Values in 0…1 at the network's input size; `saliency_lovi` has three bytes per pixel, RGB. */
  data: Float32Array | Uint8Array;
  width: number;
  height: number;
  channels: number;
}

export interface Prediction { index: number; label: string; score: number }

/** One object that a detector found. */
export interface Detection {
  /** Left, top, right, bottom in pixels of the picture. */
  box: [number, number, number, number];
  label: string;
  /** Its probability, 0…1. */
  score: number;
  /** Its class. */
  index: number;
  /** The row of the head that it came from, as the input `saliency_box` takes it. */
  row: number;
}

/** `score`: the lowest score; `iou`: if two boxes of one class overlap more, only the better one is kept. */
export interface Threshold { score: number; iou: number }

export interface Explanation {
  /** The explained class: the requested one, else the best; null without class scores, or if a detector finds nothing. */
  index: number | null;
  label: string;
  /** Its probability, 0…1. */
  score: number | null;
  /** The five best classes, best first; empty for a detector. */
  top: Prediction[];
  /** What a detector found, best first; empty for a classifier. */
  detections: Detection[];
  /** The raw scores, before any softmax. */
  scores: Float32Array;
  /** By output name: `saliency_map`, `saliency_cam`, … */
  maps: Record<string, SaliencyMap>;
  geometry: Geometry;
  /** Milliseconds. */
  timings: { preprocess: number; inference: number; detect?: number };
  image: unknown;
}

export interface Metadata {
  version: number;
  image: { name: string; layout: string; channels: number; height: number; width: number };
  scores: string;
  scores_are: "logits" | "probabilities";
  taps: { name: string; shape: (number | null)[]; weight: number }[];
  outputs: string[];
  preprocess: { order: "RGB" | "BGR" | "GRAY"; mean: number[]; std: number[]; pad?: number; placement?: string };
  resize: "stretch" | "crop" | "letterbox";
  labels: string[];
  cam: string | null;
  /** Only in a detector's file. */
  detector?: Head;
  prepared?: string;
  source_sha256?: string;
}

/** A detector's head: the key `detector` of the metadata, which docs/file-format.md describes. */
export interface Head {
  layout: "rows" | "columns" | "grid" | "end_to_end";
  classes: number;
  boxes: string[];
  scores: string[];
  objectness: string[];
  indices?: string[];
  grids: { height: number; width: number; stride: number; per_cell: number }[];
  box_at: number;
  score_at: number;
  objectness_at: number;
  index_at?: number;
  decode: string;
  unit: "pixels" | "fraction";
  bins: number;
  centre: number;
  order: "cells" | "anchors";
  activation: "none" | "sigmoid" | "softmax";
  objectness_activation: "none" | "sigmoid";
  powers: [number, number];
  anchors: number[][];
  variances: [number, number];
  family: string;
}

export interface Limits { low: number; high: number }

/** A loaded model. It takes one picture at a time: wait for the result before the next call. */
export class Model {
  readonly metadata: Metadata;
  readonly labels: string[];
  /** The names of the saliency outputs. */
  readonly outputs: string[];
  explain(
    image: Picture,
    options?: { class?: string | number | null; outputs?: string[]; threshold?: Partial<Threshold> },
  ): Promise<Explanation>;
  release(): Promise<void>;
}

/**
 * A model that is ready for pictures.
 * `source`: the file's address, in node also its path, or its bytes;
 * `ort`: onnxruntime-web, by default the copy that `fastcam web` puts beside this file;
 * `session`: options for its session.
 */
export function load(
  source: string | URL | ArrayBuffer | Uint8Array,
  options?: { ort?: unknown; session?: Record<string, unknown> },
): Promise<Model>;

/** Draw an explanation over its picture, with a detector's boxes, at the picture's own size. */
export function draw(
  canvas: HTMLCanvasElement | OffscreenCanvas,
  result: Explanation,
  options?: { view?: string; limits?: Limits },
): void;

/** The views, with their titles, the outputs that they can show, and one sentence about each. */
export const VIEWS: Record<string, { title: string; outputs: string[]; says: string }>;
export function availableViews(outputs: string[]): string[];
export function outputOf(view: string, outputs: string[], ofClass?: boolean): string;

/** The values between which the overlay's opacity grows: the median and the 99.5th percentile of the map's `part`. */
export function limitsOf(map: SaliencyMap, part?: Rect): Limits;
/** An exponential mean of the limits over the frames of a video. */
export class SmoothLimits {
  next(map: SaliencyMap, part?: Rect): Limits;
  reset(): void;
}
/** A picture with a map over it, as new pixels: what `draw` shows, where there is no canvas. */
export function overlay(picture: Pixels, map: SaliencyMap, geometry: Geometry, limits?: Limits): Pixels;

/** The default threshold. */
export const THRESHOLD: Threshold;
/** The detections in a detector's outputs for one picture, for those who run the session themselves. */
export function detect(
  head: Head,
  outputs: Record<string, { data: Float32Array; dims: readonly number[] }>,
  geometry: Geometry,
  labels: string[],
  threshold?: Partial<Threshold>,
): Detection[];
/** Red, green, blue of 256 levels. */
export const INFERNO: Uint8Array;

export function probabilities(scores: ArrayLike<number>, kind: "logits" | "probabilities"): Float32Array;
/** Indices of the classes that match a text, the best match first. */
export function candidates(text: string, labels: string[], most?: number): number[];

/** The same model with only the saliency outputs in `keep`, and a class input without a default. */
export function cut(model: Uint8Array, keep: Iterable<string>): Uint8Array;
export interface Value { name: string; type: string; shape: (number | null)[] }
export interface Summary {
  inputs: Value[];
  outputs: Value[];
  metadata: Map<string, string>;
  initializers: Set<string>;
  quantized: boolean;
  externalWeights: boolean;
}
export function summarize(model: Uint8Array): Summary;
export function readMetadata(file: Summary): Metadata;
