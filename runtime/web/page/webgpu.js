/** WebGPU instead of wasm: only where its maps are the same, and it is faster. */

import { Engine } from "./engine.js";
import { quantile } from "./measure.js";

const LARGEST_DIFFERENCE = 5e-3;
const RUNS = 7;

/** Why WebGPU is not even tried; empty where it is. */
export async function whyNoGpu() {
  const { gpu, connection } = /** @type {any} */ (navigator);
  // Safari crashes with this build of onnxruntime-web; on iOS every browser is Safari.
  if (/iP(hone|ad|od)/.test(navigator.userAgent) || (/Mac/.test(navigator.platform) && navigator.maxTouchPoints > 1)) return "not on iOS";
  if (!gpu) return "not in this browser";
  if (connection?.saveData) return "saving data";
  const adapter = await gpu.requestAdapter().catch(() => null);
  if (!adapter) return "no graphics processor";
  if (adapter.info?.isFallbackAdapter) return "no real graphics processor";
  return "";
}

/**
 * An engine on WebGPU that was found right and faster on a picture.
 * @param {Engine} wasm
 * @param {import("./site.js").Site} site
 * @param {ImageBitmap} picture
 * @param {string} output
 * @returns {Promise<Engine>}
 * @throws {Error} It is not taken, and why.
 */
export async function tryGpu(wasm, site, picture, output) {
  const reason = await whyNoGpu();
  if (reason) throw new Error(reason);
  const engine = new Engine("webgpu");
  try {
    await engine.load(site);
    const [mine, theirs] = [await time(engine, picture, output), await time(wasm, picture, output)];
    const apart = difference(mine.map, theirs.map);
    if (!(apart <= LARGEST_DIFFERENCE)) throw new Error(`its maps differ by ${apart.toPrecision(2)}`);
    if (mine.index !== theirs.index) throw new Error("it sees another class");
    if (mine.ms >= theirs.ms) throw new Error(`no faster: ${mine.ms.toFixed(0)} against ${theirs.ms.toFixed(0)} ms`);
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

/**
 * @param {Engine} engine
 * @param {ImageBitmap} picture
 * @param {string} output
 */
async function time(engine, picture, output) {
  const times = [];
  for (let run = 0; ; run++) {
    const answer = await engine.explain(await createImageBitmap(picture), null, [output]);
    answer.image.close();
    if (run > 0) times.push(answer.timings.inference);
    if (run === RUNS) return { ms: quantile(times, 0.5), map: answer.maps[output].data, index: answer.index };
  }
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
function difference(a, b) {
  let most = a.length === b.length ? 0 : Infinity;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]) || (Number.isNaN(a[i]) ? Infinity : 0));
  return most;
}
