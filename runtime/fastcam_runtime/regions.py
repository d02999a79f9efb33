"""Regions: boxes and outlines of the strongest part of a map, in pixels of its frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from .errors import FastcamError
from .image import Array, Geometry, Rect

SHARE = 0.1
"""The part of the picture that counts as strong, by default."""
SPECK = 0.02
"""A region with less than this part of all strong pixels is left out as noise."""


@dataclass(frozen=True)
class Region:
    """One connected part of the strongest pixels of a map, in the pixels of the frame."""

    box: tuple[int, int, int, int]
    """Left, top, width, height of the smallest upright rectangle around it."""
    share: float
    """The part of the whole map's sum that lies inside the region (its outline, not its box), 0…1."""
    contour: Array = field(repr=False, compare=False)
    """Its outer outline: N×2 int32, x and y, as OpenCV's drawing functions take it."""


def regions(saliency: Array, share: float = SHARE, geometry: Geometry | None = None) -> tuple[Region, ...]:
    """The connected regions of the strongest pixels of a map, the region with the largest share first.

    Pixels that equal the weakest pixel of the `share` are included, the minimum of the map never is: a
    constant map has no region. Regions with less than 2 % of the strong pixels are left out.

    Args:
        saliency: A map of an `Explanation`, H×W.
        share: The part of the picture that counts as strong, above 0 and below 1.
        geometry: `explanation.geometry`: boxes are then in the pixels of the frame, else in those of the map.

    Raises:
        FastcamError: The map has colours (LOVI), or `share` is out of range.

    Example:
        >>> saliency = np.zeros((100, 100), np.float32)
        >>> saliency[20:40, 50:60] = 1
        >>> regions(saliency)
        (Region(box=(50, 20, 10, 20), share=1.0),)
    """
    if not 0 < share < 1:
        raise FastcamError(f"share is {share}, not between 0 and 1")
    part, geometry = _seen(saliency, geometry)
    # The smallest value of the strongest `share` of all pixels.
    rank = part.size - max(1, round(share * part.size))
    limit = np.partition(part, rank, axis=None)[rank]
    strong = ((part >= limit) & (part > part.min())).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(strong, connectivity=8, ltype=cv2.CV_32S)
    sums = np.bincount(labels.ravel(), weights=part.ravel(), minlength=count)
    smallest = SPECK * stats[1:, cv2.CC_STAT_AREA].sum()
    found = [
        _region(labels == i, Rect(*map(int, stats[i, :4])), float(sums[i] / sums.sum()), geometry)
        for i in range(1, count)
        if stats[i, cv2.CC_STAT_AREA] >= smallest
    ]
    return tuple(sorted(found, key=lambda region: -region.share))


def share_inside(
    saliency: Array, box: tuple[float, float, float, float], geometry: Geometry | None = None
) -> float:
    """The part of a map's sum that lies inside a box, 0…1; pixels on its edge count with their part inside.

    Args:
        saliency: A map of an `Explanation`, H×W.
        box: Left, top, width and height, in the pixels of the frame, or of the map without `geometry`.
        geometry: `explanation.geometry`. The sum covers only the part of the frame that the network saw.
    """
    return shares_inside(saliency, [box], geometry)[0]


def shares_inside(
    saliency: Array, boxes: Sequence[tuple[float, float, float, float]], geometry: Geometry | None = None
) -> list[float]:
    """`share_inside` for each of many boxes."""
    part, geometry = _seen(saliency, geometry)
    total = float(part.sum(dtype=np.float64))
    if total == 0 or not boxes:
        return [0.0] * len(boxes)
    seen, (height, width) = geometry.seen, part.shape
    x, y, w, h = np.array(boxes, np.float64).T[..., None]
    columns = _covered((x - seen.x) * width / seen.width, w * width / seen.width, width)
    rows = _covered((y - seen.y) * height / seen.height, h * height / seen.height, height)
    sums = ((rows @ part.astype(np.float64)) * columns).sum(axis=1)
    return [float(inside) for inside in sums / total]


def _covered(start: Array, length: Array, count: int) -> Array:
    """How much of each of `count` pixels lies between `start` and `start + length`, [M,1] each: [M,count]."""
    pixels = np.arange(count, dtype=np.float64)
    covered: Array = np.clip(np.minimum(pixels + 1, start + length) - np.maximum(pixels, start), 0, 1)
    return covered


def _seen(saliency: Array, geometry: Geometry | None) -> tuple[Array, Geometry]:
    """The part of a map that shows the frame, and the geometry; without one, the map is the frame."""
    if not isinstance(saliency, np.ndarray) or saliency.ndim != 2 or saliency.size == 0:
        raise FastcamError("a map of H×W values is needed; LOVI has colours, and no strength")
    size = (saliency.shape[0], saliency.shape[1])
    geometry = geometry or Geometry.lay(size, size, "stretch")
    return geometry.undo(saliency), geometry


def _region(mask: Array, box: Rect, share: float, geometry: Geometry) -> Region:
    """A component of the map's pixels, mapped to the pixels of the frame."""
    seen, placed = geometry.seen, geometry.placed
    x, y = seen.width / placed.width, seen.height / placed.height
    left, right = (round(seen.x + edge * x) for edge in (box.x, box.x + box.width))
    top, bottom = (round(seen.y + edge * y) for edge in (box.y, box.y + box.height))
    outlines, _ = cv2.findContours(
        box.of(mask).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE, offset=(box.x, box.y)
    )
    centres = (outlines[0].reshape(-1, 2) + 0.5) * (x, y) + (seen.x - 0.5, seen.y - 0.5)
    contour = np.rint(centres).astype(np.int32)
    return Region((left, top, max(1, right - left), max(1, bottom - top)), share, contour)
