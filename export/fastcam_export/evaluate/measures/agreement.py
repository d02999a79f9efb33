"""How much two maps agree: the rank correlation of their pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rank_correlation(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Spearman's correlation over all pixels, −1…1; 0 for a constant map, where it is undefined."""
    a, b = mean_ranks(one), mean_ranks(other)
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(np.clip(a @ b / size, -1, 1)) if size else 0.0


def mean_ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means = last - (counts - 1) / 2
    ranks: NDArray[np.float64] = means[place.reshape(-1)]
    return ranks
