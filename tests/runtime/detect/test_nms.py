"""Non-maximum suppression against the plain double loop."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime.detect.nms import keep_best


def iou(a: np.ndarray, b: np.ndarray) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common / union


def plain(boxes: np.ndarray, scores: np.ndarray, classes: np.ndarray, limit: float) -> list[int]:
    kept: list[int] = []
    for k in sorted(range(len(boxes)), key=lambda k: -scores[k]):
        if all(classes[k] != classes[j] or iou(boxes[k], boxes[j]) <= limit for j in kept):
            kept.append(k)
    return kept


@pytest.mark.parametrize("limit", [0.0, 0.3, 0.45, 0.9])
def test_it_keeps_what_the_double_loop_keeps(limit: float) -> None:
    random = np.random.default_rng(3)
    corner = random.uniform(0, 100, (200, 2))
    boxes = np.concatenate([corner, corner + random.uniform(5, 60, (200, 2))], 1)
    scores, classes = random.permutation(200) / 200, random.integers(0, 3, 200)
    assert keep_best(boxes, scores, classes, limit, 300) == plain(boxes, scores, classes, limit)


def test_nothing_and_too_many() -> None:
    empty = np.zeros((0, 4))
    assert keep_best(empty, np.zeros(0), np.zeros(0, int), 0.5, 300) == []
    boxes = np.stack([[10 * k, 0, 10 * k + 5, 5] for k in range(50)]).astype(float)
    scores = np.arange(50) / 50
    assert keep_best(boxes, scores, np.zeros(50, int), 0.5, 3) == [49, 48, 47]
    assert keep_best(boxes, scores, np.zeros(50, int), 1.0, 3) == [49, 48, 47]
