"""Which pixels a cell keeps."""

from __future__ import annotations

import numpy as np
from fastcam_export.evaluate.measures.masks import top
from numpy.typing import NDArray

from . import protocol
from .cells import Cell


def kept_by(cell: Cell, ranks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """The pixels of each map that stay in a cell's photos or activations.

    In the experiment `layer`, ROAR keeps a small share of the least salient pixels. In `input` it removes as
    many of the most salient as KAR of the same cell would keep.

    Args:
        cell: Of one of these experiments.
        ranks: N×H×W, as `kept` takes them.
    """
    if cell.experiment == "layer":
        return kept(ranks, cell.mode, protocol.KEPT_IN_LAYER[cell.mode])
    return kept(ranks, cell.mode, cell.at if cell.mode == "KAR" else 1 - cell.at)


def kept(ranks: NDArray[np.integer], mode: str, share: float) -> NDArray[np.bool_]:
    """The most salient `share` of each map's pixels for KAR, the least salient for ROAR.

    Exactly that many, rounded to whole pixels, and at least one.

    Args:
        ranks: N×H×W, a permutation of 0…H·W−1 in each map: 0 is the most salient pixel.
        mode: `KAR` or `ROAR`.
        share: 0…1.
    """
    pixels = ranks.shape[-2] * ranks.shape[-1]
    return top(ranks if mode == "KAR" else pixels - 1 - ranks, max(share, 1 / pixels))
