"""The detections of a frame, and the threshold that selects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..classes import label_of
from ..errors import FastcamError, ModelError
from ..image import Array, Geometry
from ..regions import shares_inside
from .decode import Candidates, find_candidates
from .head import Head
from .nms import keep_best

MOST = 300
"""Most boxes per frame."""


@dataclass(frozen=True)
class Detection:
    """One object that a detector found."""

    box: tuple[float, float, float, float]
    """Left, top, right, bottom in pixels of the frame."""
    label: str
    score: float
    """Its probability, 0…1."""
    index: int
    """Its class."""
    row: int
    """The row of the head that it came from, as the input `saliency_box` takes it."""

    def contains(self, x: float, y: float) -> bool:
        """Whether a point of the frame is inside the box."""
        left, top, right, bottom = self.box
        return left <= x < right and top <= y < bottom

    @property
    def centre(self) -> tuple[float, float]:
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2

    @property
    def area(self) -> float:
        left, top, right, bottom = self.box
        return (right - left) * (bottom - top)


@dataclass(frozen=True)
class Threshold:
    """Which detections to keep."""

    score: float = 0.25
    """The lowest score."""
    iou: float = 0.45
    """If two boxes of one class overlap more (intersection over union), only the better one is kept."""
    classes: tuple[int, ...] = ()
    """Only these classes; empty for all."""

    def __post_init__(self) -> None:
        for name in ("score", "iou"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise FastcamError(f"--{name} {value:g}: a number from 0 to 1 is needed")


def detect(
    head: Head,
    outputs: Mapping[str, Array],
    geometry: Geometry,
    labels: Sequence[str],
    threshold: Threshold,
) -> tuple[Detection, ...]:
    """The detections of a frame, best first.

    Args:
        head: The head.
        outputs: Its outputs for this frame, without the batch dimension.
        geometry: How the frame was placed in the input.
        labels: The names of the classes; a class without a name is called by its number.
        threshold: Which detections to keep.

    Raises:
        ModelError: The outputs do not fit the head.
    """
    found = find_candidates(head, outputs, geometry.input, threshold.score)
    found = _of_classes(found, threshold.classes)
    _check_place(found, geometry.input, head)
    iou = threshold.iou if head.grids else 1.0
    kept = keep_best(found.boxes, found.scores, found.classes, iou, MOST)
    boxes = geometry.to_frame(found.boxes[kept]).tolist()
    rows, scores, classes = (part[kept].tolist() for part in (found.rows, found.scores, found.classes))
    return tuple(
        Detection((left, top, right, bottom), label_of(k, labels), score, k, row)
        for (left, top, right, bottom), k, score, row in zip(boxes, classes, scores, rows, strict=True)
        if k >= 0 and right > left and bottom > top
    )


def map_shares(saliency: Array, geometry: Geometry, detections: Sequence[Detection]) -> list[float]:
    """For each detection, the share of the map's sum over the frame that lies in its box, 0…1."""
    boxes = [found.box for found in detections]
    return shares_inside(saliency, [(x, y, right - x, bottom - y) for x, y, right, bottom in boxes], geometry)


def _of_classes(found: Candidates, classes: Sequence[int]) -> Candidates:
    if not classes:
        return found
    kept = np.isin(found.classes, classes)
    return Candidates(found.rows[kept], found.classes[kept], found.scores[kept], found.boxes[kept])


def _check_place(found: Candidates, size: tuple[int, int], head: Head) -> None:
    """Refuse boxes outside the picture: they were decoded the wrong way."""
    if not len(found.rows):
        return
    x, y = (found.boxes[:, k] + found.boxes[:, k + 2] for k in (0, 1))
    inside = (x > -size[1]) & (x < 3 * size[1]) & (y > -size[0]) & (y < 3 * size[0])
    if not np.isfinite(found.boxes).all() or not inside.any():
        raise ModelError(
            f"the detector's boxes in '{head.boxes[0]}' are outside the picture when decoded as "
            f"'{head.decode}' ({head.unit}): export the file again with --head"
        )
