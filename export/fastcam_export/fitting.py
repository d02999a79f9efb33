"""Which preprocessing fits a network: run the plausible ones on photos and compare the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from fastcam_runtime.classes import probabilities
from fastcam_runtime.contract import PREPROCESS, ImageInput, Preprocess
from fastcam_runtime.errors import ort_errors_as
from fastcam_runtime.image import Image
from fastcam_runtime.model.feeds import make_feeds
from fastcam_runtime.model.session import quiet_options, start_session
from fastcam_runtime.model.watching import Runner
from fastcam_runtime.preprocess import IMAGE_TYPES, Preprocessor

from .errors import GraftError

_MEANS = Preprocess("RGB", (123.68, 116.779, 103.939))
"""Caffe's: only the mean colour is subtracted."""
_COLOURS = Preprocess("BGR", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
"""Pixels as they are."""
RESIZES = ("stretch", "crop")
_LEAST = 1e-9
"""Lower bound of the probabilities, so that a single miss does not decide."""


@dataclass(frozen=True)
class KnownPreprocess:
    """A preprocessing that networks are trained with, and its name."""

    name: str
    preprocess: Preprocess
    resize: str


@dataclass(frozen=True)
class Photo:
    """A picture as the network will see it, by the way of resizing, and the class that it shows if known."""

    views: Mapping[str, Image]
    """BGR, in the size of the network's input: 60 photos of a telephone would take 2 GB."""
    expected: int | None = None

    @classmethod
    def of(cls, pixels: Image, image: ImageInput, expected: int | None) -> Photo:
        """The photo for a network with this input."""
        colours = replace(image, layout="NHWC", channels=len(_COLOURS.mean))
        views = {
            resize: Preprocessor(colours, _COLOURS, resize, np.uint8)(pixels)[0][0] for resize in RESIZES
        }
        return cls(views, expected)


@dataclass(frozen=True)
class Fit:
    """How the network answers under one candidate."""

    candidate: KnownPreprocess
    probabilities: np.ndarray
    """Photos × classes, the mean of each photo and its mirror image."""
    fit: float
    """0…1, for ranking: the geometric mean of the probability of the right class, or of the best one."""
    right: int
    """Photos whose best class is the expected one."""


def candidates(channels: int) -> Iterator[KnownPreprocess]:
    """The candidates, the usual ones first."""
    if channels not in (1, 3):
        raise GraftError(f"check supports gray and colour pictures, not {channels} channels")
    presets = {**PREPROCESS, "mean only": _MEANS}
    for resize in RESIZES:
        for name, preset in presets.items():
            if channels == 1:
                gray = replace(preset, order="GRAY", mean=preset.mean[1:2], std=preset.std[1:2])
                yield KnownPreprocess(f"{name} gray", gray, resize)
                continue
            yield KnownPreprocess(f"{name} RGB", preset, resize)
            yield KnownPreprocess(
                f"{name} BGR", Preprocess("BGR", preset.mean[::-1], preset.std[::-1]), resize
            )


def fits(model: Path, image: ImageInput, scores: str, scores_are: str, photos: Sequence[Photo]) -> list[Fit]:
    """Every candidate on the photos, the best first.

    Without expected classes, a photo and its mirror image must agree: with a wrong range a network may be
    sure of a random class, but rarely of the same class twice.

    Raises:
        GraftError: The network does not run.
        ModelError: A run takes too much memory, or does not end.
    """
    with ort_errors_as(GraftError, f"{model}: onnxruntime cannot run it"):
        session = start_session(str(model), quiet_options())
    run = Runner(str(model), model)
    kind = next(value.type for value in session.get_inputs() if value.name == image.name)
    shape = (1, image.channels, image.height, image.width)
    if image.layout == "NHWC":
        shape = (1, image.height, image.width, image.channels)
    feeds = make_feeds(session.get_inputs(), image.name, shape, np.zeros)
    found = []
    for candidate in candidates(image.channels):
        prepare = Preprocessor(image, candidate.preprocess, dtype=IMAGE_TYPES.get(kind, np.uint8))
        rows = []
        for photo in photos:
            twice = []
            view = photo.views[candidate.resize]
            for pixels in (view, cv2.flip(view, 1)):
                feeds[image.name] = prepare(np.asarray(pixels, np.uint8))[0]
                with ort_errors_as(GraftError, f"{model} does not run"):
                    (answer,) = run(session, [scores], feeds)
                twice.append(_probabilities(answer[0].reshape(-1), scores_are))
            rows.append(_agreed(twice, photo.expected))
        found.append(_fit(candidate, np.array(rows), photos))
    return sorted(found, key=lambda fit: -fit.fit)


def _probabilities(scores: np.ndarray, scores_are: str) -> np.ndarray:
    values = probabilities(scores, scores_are).astype(np.float64)
    alone = values.size == 1 and scores_are == "logits"  # yes or no
    return np.array([1 - values[0], values[0]]) if alone else values


def _agreed(twice: Sequence[np.ndarray], expected: int | None) -> np.ndarray:
    first, second = twice
    # The geometric mean is high only for a class that both name.
    result: np.ndarray = (first + second) / 2 if expected is not None else np.sqrt(np.abs(first * second))
    return result


def _fit(candidate: KnownPreprocess, rows: np.ndarray, photos: Sequence[Photo]) -> Fit:
    best = rows.argmax(axis=1)
    wanted = [b if photo.expected is None else photo.expected for b, photo in zip(best, photos, strict=True)]
    chosen = np.maximum(rows[np.arange(len(rows)), wanted], _LEAST)
    right = sum(int(b == photo.expected) for b, photo in zip(best, photos, strict=True))
    return Fit(candidate, rows, float(np.exp(np.log(chosen).mean())), right)
