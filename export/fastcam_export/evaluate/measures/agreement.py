"""How much two maps agree: the rank correlation of their pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Agreements = list[float | None]
"""By picture; None where a map is constant or not finite."""


def rank_correlation(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Spearman's correlation over all pixels, −1…1; 0 for a constant map, where it is undefined."""
    a, b = mean_ranks(one), mean_ranks(other)
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(np.clip(a @ b / size, -1, 1)) if size else 0.0


def agreement(one: NDArray[np.floating], other: NDArray[np.floating]) -> float | None:
    """The same; None if a map is constant or not finite: it shows nothing, so nothing agrees with it."""
    shown = all(np.isfinite(each).all() and each.min() < each.max() for each in (one, other))
    return rank_correlation(one, other) if shown else None


def known(values: Sequence[float | None]) -> list[float]:
    """Those that are defined."""
    return [value for value in values if value is not None]


def known_pairs(
    values: Sequence[float | None], others: Sequence[float | None]
) -> tuple[list[float], list[float]]:
    """Those of the pictures that have both."""
    pairs = [
        (one, other)
        for one, other in zip(values, others, strict=True)
        if one is not None and other is not None
    ]
    return [one for one, _ in pairs], [other for _, other in pairs]


def mean_ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means = last - (counts - 1) / 2
    ranks: NDArray[np.float64] = means[place.reshape(-1)]
    return ranks
