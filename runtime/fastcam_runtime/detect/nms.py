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
    # All pairs at once: the loop that follows then only reads.
    apart = ~_overlap_more(boxes[order].astype(np.float32), iou)
    apart |= classes[order][:, None] != classes[order]
    stays = np.ones(len(order), bool)
    kept: list[int] = []
    for k, index in enumerate(order.tolist()):
        if not stays[k]:
            continue
        kept.append(index)
        if len(kept) == most:
            break
        stays &= apart[k]
    return kept


def _overlap_more(boxes: Array, iou: float) -> Array:
    """For each pair of boxes [M,4], whether their intersection over union is above `iou`, bool [M,M]."""
    left, top, right, bottom = boxes.T
    # In place: with hundreds of boxes, most of the time goes into new arrays of pairs.
    width, height = (np.minimum(b[:, None], b) for b in (right, bottom))
    width -= np.maximum(left[:, None], left)
    height -= np.maximum(top[:, None], top)
    common = np.maximum(width, 0, out=width)
    common *= np.maximum(height, 0, out=height)
    common *= 1 + iou
    areas = np.maximum(right - left, 0) * np.maximum(bottom - top, 0)
    both = np.add(areas[:, None], areas, out=height)
    both *= iou
    more: Array = common > both
    return more
