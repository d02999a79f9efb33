"""Intervals for means and for paired differences, by resampling the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
_SEED = 19


@dataclass(frozen=True)
class Estimate:
    """A mean, with its interval; the bounds are NaN if there is one value only, whose spread is not known."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0

    def as_dict(self) -> dict[str, float | None]:
        """For JSON, which has no NaN."""
        numbers = {"mean": self.mean, "low": self.low, "high": self.high}
        return {key: value if np.isfinite(value) else None for key, value in numbers.items()}


def estimate(values: Sequence[float], block: int = 1) -> Estimate:
    """The mean and its 95 % percentile bootstrap interval; for a paired interval, pass the differences.

    Values that follow one another in time, such as the frames of a video, are alike: with `block`, so many in
    a row are drawn together (the circular block bootstrap).
    """
    samples = np.asarray(values, np.float64)
    if not samples.size:
        return Estimate(float("nan"), float("nan"), float("nan"))
    if samples.size <= block:
        return Estimate(float(samples.mean()), float("nan"), float("nan"))
    blocks = -(-samples.size // block)
    starts = np.random.default_rng(_SEED).integers(samples.size, size=(RESAMPLES, blocks))
    chosen = (starts[..., None] + np.arange(block)).reshape(RESAMPLES, -1)[:, : samples.size] % samples.size
    means = samples[chosen].mean(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(samples.mean()), float(low), float(high))


def estimate_difference(values: Sequence[float], reference: Sequence[float], block: int = 1) -> Estimate:
    """The mean of `values − reference`, item by item."""
    return estimate([one - other for one, other in zip(values, reference, strict=True)], block)
