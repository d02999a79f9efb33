"""How much two maps agree: the rank correlation of their pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rank_correlation(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Spearman's correlation over all pixels, equal values sharing their mean rank; 0 for a constant map."""
    a, b = _mean_ranks(one), _mean_ranks(other)
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size else 0.0


def _mean_ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means = last - (counts - 1) / 2
    ranks: NDArray[np.float64] = means[place.reshape(-1)]
    return ranks
