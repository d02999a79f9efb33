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
    """A mean over pictures, with its interval."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def estimate(values: Sequence[float]) -> Estimate:
    """The mean and its 95 % percentile bootstrap interval; for a paired interval, pass the differences."""
    samples = np.asarray(values, np.float64)
    if not samples.size:
        return Estimate(float("nan"), float("nan"), float("nan"))
    chosen = np.random.default_rng(_SEED).integers(samples.size, size=(RESAMPLES, samples.size))
    means = samples[chosen].mean(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(samples.mean()), float(low), float(high))
