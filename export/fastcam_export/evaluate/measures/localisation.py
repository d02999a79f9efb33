"""Whether maps locate annotated objects: pointing game, energy inside, pixel AUC."""

from __future__ import annotations

import cv2
import numpy as np
from fastcam_runtime.image import Geometry
from numpy.typing import NDArray

from ..marks import OBJECT, UNKNOWN, Marks
from .masks import ranking

Marked = NDArray[np.bool_]


def on_input(marks: Marks, geometry: Geometry) -> Marks:
    """The marks in the coordinates of the network's input; letterbox bars are no part of the picture.

    As background, bars would raise the figures of every map that is low there, whatever it shows elsewhere.
    """
    seen = geometry.seen.of(marks).astype(np.uint8)
    placed = geometry.placed
    laid = np.full(geometry.input, UNKNOWN, np.uint8)
    placed.of(laid)[:] = cv2.resize(seen, (placed.width, placed.height), interpolation=cv2.INTER_NEAREST)
    return laid


def located(saliency: NDArray[np.float32], marks: Marks) -> dict[str, float]:
    """All three figures of a map, by the pixels that the annotation decides.

    Empty if these all lie on objects, or none does: there is nothing to tell apart, and any map would do.
    """
    known = marks != UNKNOWN
    values, marked = saliency[known], marks[known] == OBJECT
    if not marked.any() or marked.all():
        return {}
    return {
        "pointing": pointing(values, marked),
        "energy": energy_inside(values, marked),
        "pixel_auc": pixel_auc(ranking(values[None])[0], marked),
    }


def pointing(saliency: NDArray[np.float32], marked: Marked) -> float:
    """1 if the map's maximum lies on an object, else 0; with several maxima, the share that does."""
    return float(marked[saliency == saliency.max()].mean())


def energy_inside(saliency: NDArray[np.float32], marked: Marked) -> float:
    """The share of the map's sum that lies on objects; 0 for a map of zeros."""
    total = float(saliency.sum())
    return float(saliency[marked].sum()) / total if total > 0 else 0.0


def pixel_auc(ranks: NDArray[np.integer], marked: Marked) -> float:
    """The probability that an object's pixel is more salient than another; 0.5 if one kind is missing."""
    inside, outside = int(marked.sum()), int((~marked).sum())
    if not inside or not outside:
        return 0.5
    ascending = ranks.size - 1 - ranks[marked].astype(np.int64)
    return float((ascending.sum() - inside * (inside - 1) / 2) / (inside * outside))
