"""The data of one frame: the network's input, the maps and the explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from .classes import Prediction, top_classes
from .contract import ARGMAX, OUTPUTS
from .detect.detections import Detection
from .draw.caption import answer, write_corner
from .draw.overlay import Overlay
from .draw.views import Painter
from .errors import FastcamError, closest
from .image import Array, Geometry, Image

DETECT = "detect"
"""The stage of `Explanation.timings` that only a detector has: decoding its boxes."""

_NOTEBOOK = 960
"""Pixels of the longer side of a picture in a notebook, at most."""

_PREFIX = "saliency_"
"""The common prefix of the contract's names."""


@dataclass(frozen=True, repr=False, eq=False)
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
    """Its label, or `class 7` in a file without labels; empty without class scores."""
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
    frame: Image | None = None
    """The frame itself, for the picture in a notebook; None where it was given as an `InputTensor`."""

    def __repr__(self) -> str:
        """One line: the answer, the maps and the time."""
        said = answer(self.label, self.score) or (f"{len(self.detections)} found" if self.detections else "")
        maps = ", ".join(self.maps) or "no maps"
        milliseconds = sum(self.timings.values())
        return f"<Explanation: {f'{said}; ' if said else ''}{maps}; {milliseconds:.1f} ms>"

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle` and `copy`: a read-only view of a dictionary has neither."""
        return {**vars(self), "timings": dict(self.timings)}

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


class NoMapError(FastcamError, KeyError):
    """There is no map of that name; the message lists those that exist."""

    __str__ = Exception.__str__  # KeyError would put the message in quotation marks


class Maps(Mapping[str, Array]):
    """Maps by output name, in the order of the file; read-only.

    A short name works too: `maps["cam"]` is `maps["saliency_cam"]`, `maps["scale_1"]` the first scale.

    Example:
        >>> import numpy as np
        >>> maps = Maps({"saliency_cam": np.zeros((7, 7))})
        >>> maps["cam"] is maps["saliency_cam"]
        True
        >>> list(maps)
        ['saliency_cam']
    """

    def __init__(self, maps: Mapping[str, Array]) -> None:
        self._maps = dict(maps)

    def __getitem__(self, name: str) -> Array:
        """The map.

        Raises:
            NoMapError: There is no map of that name.
        """
        for known in (name, f"{_PREFIX}{name}"):
            if known in self._maps:
                return self._maps[known]
        there = ", ".join(self._maps) or "none"
        advice = "; export the file with --outputs all for all of them" if _is_known(name) else ""
        raise NoMapError(f"no map {name!r}; there are: {there}{closest(str(name), self._maps)}{advice}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __repr__(self) -> str:
        return f"Maps({', '.join(f'{name} {_size(array)}' for name, array in self._maps.items())})"


def _is_known(name: str) -> bool:
    """Whether some file may have a map of that name."""
    words = {word.removeprefix(_PREFIX) for word in OUTPUTS}
    return str(name).removeprefix(_PREFIX) in words


def _size(array: Array) -> str:
    return "×".join(map(str, array.shape))


def item_of(
    names: Sequence[str], arrays: Sequence[Array], index: int, whole: Sequence[str]
) -> dict[str, Array]:
    """One item of a batch, by output. Outputs that do not depend on the class have one item for all.

    The outputs `whole` may come without a batch, as the rows of some detectors do. One of two dimensions has
    a batch only if another of more dimensions has as many items.
    """
    found = dict(zip(names, arrays, strict=True))
    batches = {len(found[name]) for name in whole if found[name].ndim > 2}
    return {
        name: array
        if name in whole and (array.ndim < 2 or (array.ndim == 2 and len(array) not in batches))
        else array[min(index, len(array) - 1)]
        for name, array in found.items()
    }
