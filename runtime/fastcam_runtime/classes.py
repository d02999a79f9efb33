"""Classes: their probabilities from the scores of a network, and finding the class that a user names."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .errors import FastcamError, closest
from .image import Array

logger = logging.getLogger(__name__)

_SHOWN = 8
"""Candidates named in a message."""


@dataclass(frozen=True)
class Prediction:
    """A class and its probability."""

    index: int
    label: str
    score: float
    """Its probability, 0…1."""


def are_class_scores(shape: Sequence[int | str | None]) -> bool:
    """Whether an output of this shape has one value per class: C, C×1×1 or 1×C without the batch.

    A segmentation has one per pixel, a detector one per box. A free dimension is no number of classes: it
    follows the picture, as the length of a text does. P×1 is one value for each of P positions or anchors.
    """
    return _at_most_one_axis(shape) and all(isinstance(size, int) for size in shape)


def _at_most_one_axis(shape: Sequence[int | str | None]) -> bool:
    """Whether at most one dimension is larger than 1, counting free ones as larger."""
    per_position = len(shape) == 2 and shape[0] != 1 and shape[1] == 1
    return sum(size != 1 for size in shape) <= 1 and not per_position


def class_count(shape: Sequence[int | str | None]) -> int | None:
    """How many classes a scores output has; None if the file leaves it free or has no class scores."""
    sizes = [size for size in shape[1:] if isinstance(size, int)]
    known = bool(sizes) and len(sizes) == len(shape) - 1
    return math.prod(sizes) if known and are_class_scores(sizes) else None


def tells_classes(
    declared: Sequence[int | str | None], found: Array, stated: Sequence[int | None] | None = None
) -> bool:
    """Whether the scores of one picture are class scores.

    Args:
        declared: The shape of the scores in the graph; empty if it declares none.
        found: The scores, without the batch.
        stated: The shape of one picture's scores that the metadata state. Files that do not state it leave
            open whether a free dimension is a number of classes: it is taken for one.
    """
    if stated is not None:
        return found.dtype.kind == "f" and are_class_scores(stated)
    return found.dtype.kind == "f" and _at_most_one_axis(declared[1:] if declared else found.shape)


def describe_scores(shape: Sequence[int | None] | None, scores_are: str, *, numbers: bool) -> str:
    """`logits` or `probabilities`, as `scores_are` says, or what there is instead of a score per class.

    `shape` is that of one picture's scores. `numbers` tells whether they are floating-point numbers.
    """
    if not numbers:
        return "no scores, but indices, names or flags: no labels, no class maps"
    if shape is None or are_class_scores(shape):
        return scores_are
    listed = "×".join("?" if size is None else str(size) for size in shape)
    return f"one for each of {listed}, not for each class: no labels, no class maps"


def probabilities(scores: Array, scores_are: str) -> Array:
    """The probabilities of all classes, 0…1: the softmax, or the sigmoid for a single logit (yes or no)."""
    if scores_are == "probabilities":
        return scores
    if scores.size == 1:
        # The sigmoid, in a form that cannot overflow.
        return np.array([(1 + math.tanh(float(scores[0]) / 2)) / 2])
    # Relative to the best score, so that exp cannot overflow.
    odds: Array = np.subtract(scores, scores.max(), dtype=np.float64)
    np.exp(odds, out=odds)
    odds /= odds.sum()
    return odds


def probability(scores: Array, index: int, scores_are: str) -> float:
    """The probability of one class; see `probabilities`."""
    return float(probabilities(scores, scores_are)[index])


def label_of(index: int, labels: Sequence[str]) -> str:
    """The label of a class; `class 7` if it has none."""
    return labels[index] if index < len(labels) else f"class {index}"


def top_classes(scores: Array, n: int, labels: Sequence[str], scores_are: str) -> tuple[Prediction, ...]:
    """The `n` classes with the highest scores, highest first; with equal scores, the lower index first."""
    likely = probabilities(scores, scores_are)
    best = np.argsort(-scores, kind="stable")[:n]
    return tuple(Prediction(int(i), label_of(int(i), labels), float(likely[i])) for i in best)


class ClassError(FastcamError):
    """No such class, or more than one."""


def find_class(choice: int | str, labels: Sequence[str], count: int | None) -> int:
    """The index of a class.

    A text is taken as a label, then as an index (`7`, or `class 7` as `label_of` writes it), then as a part
    of one label, ignoring case. Labels beyond `count`, the number of classes, are ignored.

    Raises:
        ClassError: There is no such class, or several fit; the message lists candidates.
    """
    if not isinstance(choice, int | str | np.integer):
        raise ClassError(f"a class is an index or a label, not {choice!r}")
    labels = labels[:count]
    if isinstance(choice, str):
        text = choice.strip()
        if list(labels).count(text) == 1:
            return list(labels).index(text)
        try:
            choice = int(text.removeprefix("class "))
        except ValueError:
            return _by_part(text, labels)
    if choice < 0 or (count is not None and choice >= count):
        known = "" if count is None else "; the file has " + ("0" if count == 1 else f"0…{count - 1}")
        raise ClassError(f"no class {choice}{known}")
    return int(choice)


def _by_part(text: str, labels: Sequence[str]) -> int:
    if not labels:
        raise ClassError(f"no class {text!r}: the file has no labels, give an index")
    folded = text.casefold()
    same = [i for i, label in enumerate(labels) if label.casefold() == folded]
    found = same or [i for i, label in enumerate(labels) if folded in label.casefold()]
    if not folded or not found:
        raise ClassError(f"no class {text!r}{closest(text, labels)}")
    if len(found) > 1:
        shown = ", ".join(f"{labels[i]} ({i})" for i in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ClassError(f"class {text!r} could be {shown}{more}")
    return found[0]


def one_for_each(classes: Sequence[int | str] | int | str | None, count: int) -> list[int | str | None]:
    """One class for each of `count` frames, from one per frame, one for all, or None.

    Raises:
        FastcamError: The numbers of classes and frames differ.
    """
    if classes is None or isinstance(classes, int | np.integer | str):
        return [classes] * count
    if len(classes) != count:
        raise FastcamError(f"{len(classes)} classes for {count} frames: give one for each, or one for all")
    return list(classes)


class ClassFinder:
    """Finds classes by index or name; a search through 1,000 labels is not repeated for every frame."""

    def __init__(self, labels: tuple[str, ...], name: str) -> None:
        self._labels = labels
        self._name = name
        self._count: int | None = None
        self._found: dict[int | str, int] = {}

    def set_count(self, count: int) -> None:
        """Set how many classes there are: from the file, or from a frame if the file leaves them free."""
        if count != self._count:
            self._count = count
            self._found.clear()
            if self._labels and len(self._labels) != count:
                logger.warning(
                    "%s: %d labels for %d classes, so names may be wrong; export it with its own labels",
                    self._name,
                    len(self._labels),
                    count,
                )

    def __call__(self, choice: int | str) -> int:
        """The class that `choice` names.

        Raises:
            ClassError: There is no such class, or several fit.
        """
        index = self._found.get(choice)
        if index is None:
            index = find_class(choice, self._labels, self._count or len(self._labels) or None)
            self._found[choice] = index
        return index
