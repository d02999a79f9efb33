"""Intervals for means and for paired differences, by resampling the pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
CONFIDENCE = 0.95
WIDE_CONFIDENCE = 0.975
"""That of each of two intervals of which at most one is to exclude 0 by chance (Bonferroni)."""
METHOD = f"{RESAMPLES} resamples, expanded percentile, {100 * CONFIDENCE:g} %"
"""How the intervals are made, for the reader of a report."""
_SEED = 19
_BYTES = 1 << 22
"""Memory for the resamples that are drawn at once: thousands of pictures would need gigabytes for all."""
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Estimate:
    """A mean, with its interval; the bounds are NaN if there is one value only, whose spread is not known."""

    mean: float
    low: float
    high: float
    wide: tuple[float, float] = (float("nan"), float("nan"))
    """The interval of `WIDE_CONFIDENCE`."""

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    def as_dict(self) -> dict[str, float | None]:
        """For JSON, which has no NaN."""
        numbers = {"mean": self.mean, "low": self.low, "high": self.high}
        return {key: value if np.isfinite(value) else None for key, value in numbers.items()}


def estimate(values: Sequence[float], block: int = 1) -> Estimate:
    """The mean and its 95 % bootstrap interval; for a paired interval, pass the differences.

    The interval is the expanded percentile interval (Hesterberg, What Teachers Should Know About the
    Bootstrap, 2015): the plain one is too narrow for few values.

    Values that follow one another in time, such as the frames of a video, are alike: with `block`, so many in
    a row are drawn together (the circular block bootstrap). Two whole blocks are the least for an interval.
    """
    samples = np.asarray(values, np.float64)
    if not samples.size:
        return Estimate(float("nan"), float("nan"), float("nan"))
    independent = samples.size // block
    if independent < 2:
        return Estimate(float(samples.mean()), float("nan"), float("nan"))
    means = _resampled_means(samples, block)
    tail, wide = tail_share(independent), tail_share(independent, WIDE_CONFIDENCE)
    low, high, widest, highest = np.quantile(means, [tail, 1 - tail, wide, 1 - wide]).tolist()
    return Estimate(float(samples.mean()), low, high, (widest, highest))


def estimate_difference(values: Sequence[float], reference: Sequence[float], block: int = 1) -> Estimate:
    """The mean of `values − reference`, item by item."""
    return estimate([one - other for one, other in zip(values, reference, strict=True)], block)


class Estimates:
    """Estimates that are computed once, however often a report needs them.

    They are found by the values themselves, so they are right whatever was added or changed in between.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], Estimate] = {}

    def of(self, values: Sequence[float], block: int = 1) -> Estimate:
        """The same as `estimate(values, block)`."""
        samples = np.asarray(values, np.float64)
        key = blake2b(samples.tobytes()).digest(), block
        if key not in self._known:
            self._known[key] = estimate(samples.tolist(), block)
        return self._known[key]

    def of_difference(self, values: Sequence[float], reference: Sequence[float], block: int = 1) -> Estimate:
        """The same as `estimate_difference(values, reference, block)`."""
        return self.of([one - other for one, other in zip(values, reference, strict=True)], block)


def tail_share(count: int, confidence: float = CONFIDENCE) -> float:
    """The share of the resampled means beyond each end of the interval, for so many independent values.

    Means of resamples vary less than those of new samples, by √((n−1)/n), and the spread of few values is
    itself uncertain. Student's t accounts for both: Φ(−√(n/(n−1)) · t), which tends to 2.5 % for 95 %.
    """
    t = student_t((1 + confidence) / 2, count - 1)
    return _NORMAL.cdf(-math.sqrt(count / (count - 1)) * t)


def student_t(probability: float, freedom: int) -> float:
    """A quantile of Student's t, by the expansion of Cornish and Fisher (Abramowitz and Stegun, 26.7.5).

    For 97.5 % it errs by 0.03 % with 4 degrees of freedom, and by less with more. With fewer it is too small,
    but `tail_share` is then less than one resample.
    """
    x = _NORMAL.inv_cdf(probability)
    square = x * x
    terms = (
        x,
        (square + 1) * x / 4,
        ((5 * square + 16) * square + 3) * x / 96,
        (((3 * square + 19) * square + 17) * square - 15) * x / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) * x / 92160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


def _resampled_means(samples: NDArray[np.float64], block: int) -> NDArray[np.float64]:
    """The means of `RESAMPLES` resamples, drawn in parts that need bounded memory."""
    random = np.random.default_rng(_SEED)
    blocks = -(-samples.size // block)
    rows = max(1, _BYTES // (16 * samples.size))
    parts = []
    for begun in range(0, RESAMPLES, rows):
        starts = random.integers(samples.size, size=(min(rows, RESAMPLES - begun), blocks))
        if block > 1:
            following = (starts[..., None] + np.arange(block)).reshape(len(starts), -1)
            starts = following[:, : samples.size] % samples.size
        parts.append(samples[starts].mean(axis=1))
    return np.concatenate(parts)
