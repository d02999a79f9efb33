/** What the maps cost: the network with and without them, in turn, and the differences within each round. */

const WARM_UP = 3;

/**
 * @typedef {{plain: number[], grafted: number[]}} Samples Milliseconds, one of each per round.
 */

/**
 * Run both in turn; the order alternates from round to round.
 * @param {(() => Promise<unknown>)[]} runs The network alone, and with its maps.
 * @param {number} rounds
 * @param {(share: number) => void} progress
 * @returns {Promise<Samples>}
 */
export async function interleave([plain, grafted], rounds, progress) {
  /** @type {Samples} */
  const samples = { plain: [], grafted: [] };
  const both = /** @type {["plain" | "grafted", () => Promise<unknown>][]} */ ([["plain", plain], ["grafted", grafted]]);
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [name, run] of round % 2 ? [both[1], both[0]] : both) {
      const started = performance.now();
      await run();
      if (round >= 0) samples[name].push(performance.now() - started);
    }
    progress((round + WARM_UP + 1) / (rounds + WARM_UP));
  }
  return samples;
}

/**
 * The quantile of the numbers at `share`.
 * @param {number[]} values
 * @param {number} share
 */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  const rank = share * (sorted.length - 1), low = Math.floor(rank);
  return sorted[low] + (rank - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/**
 * The measurement in figures.
 * @param {Samples} samples
 */
export function evaluate({ plain, grafted }) {
  const differences = plain.map((value, round) => grafted[round] - value);
  const median = quantile(differences, 0.5), base = quantile(plain, 0.5);
  return {
    rounds: plain.length,
    plain_ms: base,
    grafted_ms: quantile(grafted, 0.5),
    difference_ms: median,
    quartiles_ms: [quantile(differences, 0.25), quantile(differences, 0.75)],
    percent: 100 * median / base,
  };
}

/**
 * A report to copy.
 * @param {ReturnType<typeof evaluate>} figures
 * @param {string} backend
 * @param {string} file
 */
export function describe(figures, backend, file) {
  const ms = (/** @type {number} */ value) => value.toFixed(2);
  const [first, third] = figures.quartiles_ms;
  return [
    `${file}, ${backend}, ${navigator.userAgent}`,
    `network alone   ${ms(figures.plain_ms)} ms`,
    `with its maps   ${ms(figures.grafted_ms)} ms`,
    `the maps cost   ${ms(figures.difference_ms)} ms (${figures.percent.toFixed(1)} %): the median of ${figures.rounds} ` +
      `differences, half of them ${ms(first)} to ${ms(third)} ms`,
  ].join("\n");
}
