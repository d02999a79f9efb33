"""The data of one frame: the network's input, and the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np

from .classes import Prediction, top_classes
from .contract import ARGMAX
from .detect.detections import Detection
from .draw.caption import answer, write_corner
from .draw.overlay import Overlay
from .draw.views import Painter
from .image import Array, Geometry, Image

DETECT = "detect"
"""The stage of `Explanation.timings` that only a detector has: decoding its boxes."""


_NOTEBOOK = 960
"""Pixels of the longer side of a picture in a notebook, at most."""


@dataclass(frozen=True, repr=False)
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
    """By output name (`saliency_map`, …), or its short form (`cam`): H×W float32 in 0…1; `saliency_lovi` is
    H×W×3 uint8 RGB."""
    timings: Mapping[str, float]
    """Milliseconds by stage: `preprocess`, `inference`; with several classes, the share of each."""
    geometry: Geometry
    labels: tuple[str, ...] = ()
    """The labels of all classes; empty in a file without."""
    scores_are: str = "logits"
    """What `logits` holds: `logits` or `probabilities`."""
    detections: tuple[Detection, ...] = ()
    """What a detector found, best first; empty for any other network."""
    chosen: Detection | None = None
    """The detection that the maps are of, if one was chosen; see `explain_box`."""
    frame: Image | None = field(default=None, compare=False)
    """The frame itself, for the picture in a notebook; None where it was given as an `InputTensor`."""

    def __repr__(self) -> str:
        """One line: the answer, the maps and the time."""
        said = answer(self.label, self.score) or (f"{len(self.detections)} found" if self.detections else "")
        maps = ", ".join(self.maps) or "no maps"
        milliseconds = sum(self.timings.values())
        return f"<Explanation: {f'{said}; ' if said else ''}{maps}; {milliseconds:.1f} ms>"

    def _repr_png_(self) -> bytes | None:
        """The map over the frame as a PNG file, which notebooks show; None without maps."""
        if not self.maps:
            return None
        frame, geometry = self.frame, self.geometry
        if frame is not None and frame.ndim == 3 and frame.shape[2] not in (1, 3, 4):
            frame = None  # its channels are no colours
        first = next(iter(self.maps))
        view = "map" if frame is None else "lovi" if self.maps[first].ndim == 3 else "overlay"
        if frame is None:
            frame = np.zeros((*geometry.frame, 3), np.uint8)
        maps = {first: self.maps[first]}
        picture = Painter(Overlay()).paint(view, frame, maps, geometry, self.detections, self.chosen).copy()
        scale = min(1.0, _NOTEBOOK / max(picture.shape[:2]))
        if scale < 1:
            picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if self.score is not None and not self.detections:
            write_corner(picture, answer(self.label, self.score))
        return cv2.imencode(".png", picture)[1].tobytes()

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
    row: int = ARGMAX
    """The row of a detector's head for `saliency_box`; −1 for the one with the highest score."""
