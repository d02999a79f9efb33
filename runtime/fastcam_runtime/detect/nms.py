"""Non-maximum suppression: among boxes that overlap, keep the best."""

from __future__ import annotations

import numpy as np

from ..image import Array

CONSIDERED = 1000
"""Most boxes to process: of more, only the best are used."""


def keep_best(boxes: Array, scores: Array, classes: Array, iou: float, most: int) -> list[int]:
    """The indices of the boxes to keep, best first.

    Args:
        boxes: Left, top, right, bottom, [M,4].
        scores: [M].
        classes: [M]; boxes of different classes do not suppress each other.
        iou: Overlap above which the worse box is dropped; at 1 none is.
        most: The most boxes to keep.
    """
    order = np.argsort(-scores, kind="stable")[:CONSIDERED]
    if iou >= 1:
        return [int(k) for k in order[:most]]
    kept: list[int] = []
    while len(order) and len(kept) < most:
        best, order = order[0], order[1:]
        kept.append(int(best))
        rivals = classes[order] == classes[best]
        order = order[~(rivals & (overlaps(boxes[best], boxes[order]) > iou))]
    return kept


def overlaps(box: Array, boxes: Array) -> Array:
    """Intersection over union of one box [4] with others [M,4]; 0 if both are empty."""
    sides = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    common = np.prod(np.maximum(sides, 0), axis=1)
    areas = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 0), axis=1)
    union = areas + np.prod(np.maximum(box[2:] - box[:2], 0)) - common
    result: Array = common / np.maximum(union, np.finfo(np.float32).tiny)
    return result
