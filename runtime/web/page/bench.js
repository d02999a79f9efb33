/** `fastcam bench --web`: measure once, without a page, and post the samples to the server. */

import { Engine } from "./engine.js";
import { readSite } from "./site.js";

/** @param {Record<string, unknown>} report */
async function send(report) {
  await fetch("report", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(report) });
}

try {
  const query = new URLSearchParams(location.search);
  const site = await readSite();
  const engine = new Engine("wasm");
  engine.threads = Number(query.get("threads")) || engine.threads;
  const { timings } = await engine.load(site);
  const samples = await engine.measure(Number(query.get("rounds")));
  await send({ ...samples, timings, threads: engine.threads, browser: navigator.userAgent });
} catch (error) {
  await send({ error: error instanceof Error ? error.message : String(error) });
}
