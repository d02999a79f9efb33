/** Class scores: probabilities, the best classes, and finding the class that a user names. */

/**
 * @typedef {{index: number, label: string, score: number}} Prediction `score` is a probability, 0…1.
 */

/**
 * The probability of each class: the softmax, or for a single logit the sigmoid.
 * @param {ArrayLike<number>} scores
 * @param {"logits" | "probabilities"} kind
 * @returns {Float32Array}
 */
export function probabilities(scores, kind) {
  const out = Float32Array.from(scores);
  if (kind === "probabilities") return out;
  if (out.length === 1) return out.map((score) => 1 / (1 + Math.exp(-score)));
  let best = -Infinity, sum = 0;
  for (const score of out) best = Math.max(best, score);
  for (let i = 0; i < out.length; i++) sum += out[i] = Math.exp(out[i] - best);
  for (let i = 0; i < out.length; i++) out[i] /= sum;
  return out;
}

/**
 * The `count` best classes, best first.
 * @param {Float32Array} shares
 * @param {string[]} labels
 * @param {number} count
 * @returns {Prediction[]}
 */
export function best(shares, labels, count) {
  /** @type {number[]} */
  const order = [];
  for (let i = 0; i < shares.length; i++) {
    if (order.length === count && shares[i] <= shares[order[count - 1]]) continue;
    let at = order.length;
    while (at > 0 && shares[order[at - 1]] < shares[i]) at--;
    order.splice(at, 0, i);
    order.length = Math.min(order.length, count);
  }
  return order.map((index) => ({ index, label: labelOf(index, labels), score: shares[index] }));
}

/**
 * @param {number} index
 * @param {string[]} labels
 */
export function labelOf(index, labels) {
  return labels[index] ?? `class ${index}`;
}

/**
 * Classes that match a text: whole labels first, then whole words, starts of labels, starts of words, parts of words.
 * @param {string} text
 * @param {string[]} labels
 * @param {number} most
 * @returns {number[]} Indices.
 */
export function candidates(text, labels, most = 8) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const inWord = (/** @type {string | undefined} */ letter) => letter !== undefined && /[\p{L}\p{N}]/u.test(letter);
  const ranked = labels.flatMap((label, index) => {
    const text = label.toLowerCase();
    let rank = text === wanted ? 0 : Infinity;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
      const starts = !inWord(text[at - 1]), ends = !inWord(text[at + wanted.length]);
      rank = Math.min(rank, starts && ends ? 1 : at === 0 ? 2 : starts ? 3 : 4);
    }
    return rank < Infinity ? [{ rank, index }] : [];
  });
  ranked.sort((a, b) => a.rank - b.rank || a.index - b.index);
  return ranked.slice(0, most).map(({ index }) => index);
}

/**
 * The class that a text or an index names.
 * @param {string | number} choice
 * @param {string[]} labels
 * @param {number | null} count The number of classes; null if unknown.
 * @returns {number}
 * @throws {Error} There is no such class, or several fit.
 */
export function findClass(choice, labels, count) {
  const text = String(choice).trim();
  const exact = labels.indexOf(text);
  if (exact >= 0 && labels.indexOf(text, exact + 1) < 0) return exact;
  const index = /^(?:class )?(\d+)$/.exec(text)?.[1];
  if (index !== undefined) {
    if (count !== null && Number(index) >= count) throw new Error(`no class ${index}; the file has 0…${count - 1}`);
    return Number(index);
  }
  const found = candidates(text, labels, labels.length);
  const same = found.filter((index) => labels[index].toLowerCase() === text.toLowerCase());
  if (same.length === 1) return same[0];
  if (found.length === 1) return found[0];
  if (found.length === 0) throw new Error(`no class “${text}”${labels.length ? "" : ": the file has no labels, give an index"}`);
  const shown = found.slice(0, 8).map((index) => `${labels[index]} (${index})`).join(", ");
  throw new Error(`class “${text}” could be ${shown}${found.length > 8 ? ` and ${found.length - 8} more` : ""}`);
}
