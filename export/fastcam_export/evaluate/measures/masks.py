"""The most salient pixels of a map: exact shares, even with equal values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_TIES_SEED = 20
"""Equal values are ranked in one fixed random order, so a constant map selects random pixels."""


def ranking(maps: NDArray[np.floating]) -> NDArray[np.int32]:
    """The rank of every pixel within its map (N×H×W, or one map H×W), 0 for the most salient.

    Pixels with equal values are ranked in a fixed random order.
    """
    flat = maps.reshape(-1, maps.shape[-2] * maps.shape[-1])
    shuffled = np.random.default_rng(_TIES_SEED).permutation(flat.shape[1])
    order = shuffled[np.argsort(-flat[:, shuffled], axis=1, kind="stable")]
    ranks = np.empty(flat.shape, np.int32)
    np.put_along_axis(ranks, order, np.arange(flat.shape[1], dtype=np.int32)[None], axis=1)
    return ranks.reshape(maps.shape)


def top(ranks: NDArray[np.integer], share: float) -> NDArray[np.bool_]:
    """The most salient `share` of each map's pixels: exactly that many, rounded to whole pixels."""
    pixels = ranks.shape[-2] * ranks.shape[-1]
    return np.asarray(ranks < round(share * pixels))
