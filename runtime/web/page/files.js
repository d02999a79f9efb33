/** The large files of the site: fetched compressed even if the server does not support that, and kept unpacked. */

const GZIP = [0x1f, 0x8b];

/**
 * A file from the cache, else from the server; then it is kept.
 * @param {Cache | null} cache
 * @param {URL} url
 * @param {(done: number, all: number) => void} progress
 * @returns {Promise<Response>}
 */
export async function openFile(cache, url, progress) {
  const kept = await cache?.match(url);
  if (kept) return kept;
  const bytes = await fetchFile(url, progress);
  const type = url.pathname.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  const answer = () => new Response(bytes, { headers: { "Content-Type": type } });
  // If there is no room for it, later visits fetch it again.
  await cache?.put(url, answer()).catch(() => {});
  return answer();
}

/**
 * The bytes of a file that is on the server plain and as `.gz`.
 * @param {URL} url
 * @param {(done: number, all: number) => void} progress
 */
async function fetchFile(url, progress) {
  const packed = new URL(url);
  packed.pathname += ".gz";
  const bytes = await receive(await get(packed), progress);
  // Some servers send such a file unpacked.
  if (bytes[0] !== GZIP[0] || bytes[1] !== GZIP[1]) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {URL} url */
async function get(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url.pathname} could not be loaded: ${answer.status} ${answer.statusText}`);
  return answer;
}

/**
 * @param {Response} answer
 * @param {(done: number, all: number) => void} progress
 */
async function receive(answer, progress) {
  const all = Number(answer.headers.get("content-length")) || 0;
  if (!answer.body || !all) return new Uint8Array(await answer.arrayBuffer());
  const parts = [];
  let done = 0;
  for (const stream = answer.body.getReader(); ;) {
    const { value, done: ended } = await stream.read();
    if (ended) break;
    parts.push(value);
    progress(done += value.length, all);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
