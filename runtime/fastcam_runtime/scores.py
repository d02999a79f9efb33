"""What a network's scores say: whether they are of classes, of how many, and how probable one is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .preprocess import Array


@dataclass(frozen=True)
class Prediction:
    """The class with the highest score, whichever one is explained."""

    index: int
    label: str
    score: float
    """Its probability, 0…1."""


def are_class_scores(shape: Sequence[int | str | None]) -> bool:
    """Whether an output of this shape has one value per class: C, C×1×1 or 1×C without the batch.

    A segmentation has one for every place, a detector for every box; a dimension that is free counts as such,
    though there may be one box in a picture.
    """
    return sum(size != 1 for size in shape) <= 1


def class_count(shape: Sequence[int | str | None]) -> int | None:
    """The classes of a scores output; None where the file leaves them free, and where it has none."""
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    known = bool(sizes) and len(sizes) == len(shape) - 1
    return math.prod(sizes) if known and are_class_scores(sizes) else None


def tells_classes(declared: Sequence[int | str | None], found: Array) -> bool:
    """Whether the scores of one picture are of classes.

    Args:
        declared: The shape that the file gives its scores, empty where it gives none.
        found: The scores, without the batch.
    """
    shape = declared[1:] if declared else found.shape
    return found.dtype.kind == "f" and are_class_scores(shape)


def probability(scores: Array, index: int, scores_are: str) -> float:
    """The probability of a class, 0…1: its softmax, or for a single logit, yes or no, the sigmoid.

    Args:
        scores: The scores of all classes.
        index: The class.
        scores_are: `logits` or `probabilities`, as the metadata say.
    """
    if scores_are == "probabilities":
        return float(scores[index])
    if scores.size == 1:
        return (1 + math.tanh(float(scores[0]) / 2)) / 2  # the sigmoid, in a form that cannot overflow
    # The logarithms of each class's odds to the best one.
    odds = np.subtract(scores, scores.max(), dtype=np.float64)
    np.exp(odds, out=odds)
    return float(odds[index] / odds.sum())
