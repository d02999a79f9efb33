"""How much of a map lies inside a box."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..image import Array, Geometry
from .detections import Detection


def energy_inside(saliency: Array, geometry: Geometry, detections: Sequence[Detection]) -> list[float]:
    """For each detection, the share of the map's sum over the frame that lies in its box, 0…1.

    A pixel on the edge of a box counts by the part that is inside. A map of zeros gives 0.

    Args:
        saliency: A map at the input's size, H×W.
        geometry: How the frame was placed in the input.
        detections: The detections in the frame.
    """
    part = geometry.undo(saliency)
    # An integral image: four values give the sum of any box.
    sums = np.pad(np.cumsum(np.cumsum(part, axis=0, dtype=np.float64), axis=1), ((1, 0), (1, 0)))
    total = sums[-1, -1]
    if total <= 0:
        return [0.0] * len(detections)
    seen = geometry.seen
    scale = np.array([part.shape[1] / seen.width, part.shape[0] / seen.height] * 2)
    limits = np.array([part.shape[1], part.shape[0]] * 2)
    shares = []
    for found in detections:
        box = (np.array(found.box) - [seen.x, seen.y, seen.x, seen.y]) * scale
        left, top, right, bottom = np.clip(box, 0, limits)
        inside = _at(sums, bottom, right) - _at(sums, top, right)
        inside -= _at(sums, bottom, left) - _at(sums, top, left)
        shares.append(float(min(max(inside / total, 0.0), 1.0)))
    return shares


def _at(sums: Array, y: float, x: float) -> float:
    """The integral image at fractional positions, where it is bilinear."""
    row, column = min(int(y), len(sums) - 2), min(int(x), sums.shape[1] - 2)
    down, right = y - row, x - column
    upper, lower = sums[row, column : column + 2], sums[row + 1, column : column + 2]
    first, second = (1 - down) * upper + down * lower
    return float((1 - right) * first + right * second)
