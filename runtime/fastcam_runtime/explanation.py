"""The data of one frame: the network's input, and the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .classes import Prediction, top_classes
from .detect.detections import Detection
from .image import Array, Geometry

DETECT = "detect"
"""The stage of `Explanation.timings` that only a detector has: decoding its boxes."""


@dataclass(frozen=True)
class Explanation:
    """The result for one frame: scores, class and maps.

    Maps have the network's input size (the scales have their own): `geometry`, or `overlay`, transfers them
    to the frame.
    """

    logits: Array
    """The raw scores of all classes, one-dimensional; without class scores, as in a segmentation, the raw
    output in its own shape."""
    index: int | None
    """The explained class: as requested, else that with the highest score; None without class scores."""
    label: str
    """Its label, or its index as text in a file without labels; empty without class scores."""
    score: float | None
    """Its probability, 0…1; None without class scores."""
    maps: Mapping[str, Array]
    """By output name (`saliency_map`, …): H×W float32 in 0…1; `saliency_lovi` is H×W×3 uint8 RGB."""
    timings: Mapping[str, float]
    """Milliseconds by stage: `preprocess`, `inference`; with several classes, the share of each."""
    geometry: Geometry
    labels: tuple[str, ...] = field(default=(), repr=False)
    """The labels of all classes; empty in a file without."""
    scores_are: str = "logits"
    """What `logits` holds: `logits` or `probabilities`."""
    detections: tuple[Detection, ...] = ()
    """What a detector found, best first; empty for any other network."""

    def top(self, n: int = 5) -> tuple[Prediction, ...]:
        """The `n` classes with the highest scores, highest first; empty without class scores.

        For a detector, these are the detected classes, each with its best score.
        """
        if self.detections:
            best = {found.index: found for found in reversed(self.detections)}
            ranked = sorted(best.values(), key=lambda found: -found.score)
            return tuple(Prediction(found.index, found.label, found.score) for found in ranked[:n])
        if self.score is None:
            return ()
        return top_classes(self.logits, n, self.labels, self.scores_are)


@dataclass(frozen=True)
class InputTensor:
    """A frame as the network's input, made by `Explainer.preprocess`."""

    values: Array
    geometry: Geometry
    milliseconds: float
    """The time that preprocessing took."""
