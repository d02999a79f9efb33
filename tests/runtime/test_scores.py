"""What scores say: of classes or not, by their shape and type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastcam_runtime.classes import class_count, probability, tells_classes
from scipy.special import expit, softmax

Shape = list[int | str | None]


@pytest.mark.parametrize(
    ("declared", "found", "tells", "count"),
    [
        (["N", 10], (10,), True, 10),
        (["N", "C"], (10,), True, None),
        ([1, 10, 1, 1], (10, 1, 1), True, 10),
        ([1, 1, 10], (1, 10), True, 10),
        ([], (10,), True, None),
        ([], (5, 4, 4), False, None),
        (["N", 5, "h", "w"], (5, 4, 4), False, None),
        # A detector that finds one box has not turned into a classifier.
        ([1, "boxes", 6], (3, 6), False, None),
        ([1, "boxes", 6], (1, 6), False, None),
    ],
)
def test_shapes(declared: Shape, found: tuple[int, ...], tells: bool, count: int | None) -> None:
    assert tells_classes(declared, np.zeros(found, np.float32)) == tells
    assert class_count(declared) == count


@pytest.mark.parametrize("dtype", [np.int64, np.bool_])
def test_an_index_is_no_score(dtype: Any) -> None:
    assert not tells_classes([1, 1], np.zeros(1, dtype))


def test_probabilities() -> None:
    logits = np.random.default_rng(0).normal(scale=20, size=12).astype(np.float32)
    for index, expected in enumerate(softmax(logits.astype(np.float64))):
        assert probability(logits, index, "logits") == pytest.approx(expected)
        assert probability(logits, index, "probabilities") == logits[index]
    for logit in (-1e6, -3.0, 0.0, 5.0, 1e6):
        assert probability(np.array([logit]), 0, "logits") == pytest.approx(expit(logit))
