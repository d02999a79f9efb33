"""How a head encodes its boxes and scores, inferred from the values of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from fastcam_runtime.detect.boxes import cell_table
from fastcam_runtime.detect.head import ORDERS, Grid, Head

FOLLOWS = 0.9
"""Smallest correlation with the cells' positions at which a value counts as a coordinate."""
FRACTIONS = 4.0
"""Coordinates whose maximum is below this are fractions of the picture, not pixels."""


@dataclass(frozen=True)
class BoxCoding:
    """The meaning of the boxes' values."""

    decode: str
    """`xyxy`, `cxcywh` or `yxyx`; empty if the values are not decoded to coordinates."""
    unit: str = "pixels"
    order: str = "cells"
    why: str = "boxes are not decoded: they do not follow the grid"


def box_coding(boxes: np.ndarray, grids: Sequence[Grid]) -> BoxCoding:
    """Whether boxes [A,4] are decoded, and in which form.

    The boxes of a decoded head correlate with its cells: the first two values grow with the position of the
    cell. If the other two do so as well, they are corners, else sizes.
    """
    unit = "fraction" if float(np.abs(boxes).max()) < FRACTIONS else "pixels"
    several = any(grid.per_cell > 1 for grid in grids)
    best: tuple[float, str] = (0.0, ORDERS[0])
    for order in ORDERS if several else ORDERS[:1]:
        place = _places(grids, order)
        best = max(best, (min(_correlation(boxes[:, k], place[k]) for k in (0, 1)), order))
    follows, order = best
    x, y = _places(grids, order)
    if follows < FOLLOWS:
        swapped = min(_correlation(boxes[:, 0], y), _correlation(boxes[:, 1], x))
        if swapped < FOLLOWS:
            return BoxCoding("")
        return BoxCoding("yxyx", unit, order, f"boxes are corners, y first, in {_in(unit)}")
    far = min(_correlation(boxes[:, 2], x), _correlation(boxes[:, 3], y))
    if far >= FOLLOWS:
        return BoxCoding("xyxy", unit, order, f"boxes are decoded: corners in {_in(unit)}")
    return BoxCoding("cxcywh", unit, order, f"boxes are decoded: centre and size in {_in(unit)}")


def _in(unit: str) -> str:
    return "pixels" if unit == "pixels" else "parts of the picture"


def _places(grids: Sequence[Grid], order: str) -> np.ndarray:
    """x and y of every row's cell in pixels, [2,A]."""
    x, y, stride = cell_table(Head("rows", 1, (), (), grids=tuple(grids), order=order))
    return np.stack([x * stride, y * stride])


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a.astype(np.float64), b)[0, 1])


def are_probabilities(values: np.ndarray) -> bool:
    """Whether all are within 0…1, with a tolerance for half-precision and quantised networks."""
    return bool(values.size) and float(values.min()) >= -1e-3 and float(values.max()) <= 1 + 1e-3


def sum_to_one(values: np.ndarray) -> bool:
    """Whether the values of each row add up to 1: a softmax over the classes and the background."""
    return are_probabilities(values) and bool(np.allclose(values.sum(axis=1), 1, atol=1e-2))
