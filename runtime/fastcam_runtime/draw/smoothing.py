"""Temporal smoothing: maps flicker in a video because every frame is normalised separately."""

from __future__ import annotations

from collections.abc import Mapping

import cv2
import numpy as np

from ..errors import FastcamError
from ..image import Array

DEFAULT = 0.7
"""The weight of earlier maps for videos and cameras: two thirds less flicker, and nearly the same map."""


class Smoother:
    """An exponential mean of each map over the frames.

    `keep` is the weight of earlier maps, 0 (no smoothing) to below 1. At 0.8, half of a change shows after
    three frames.

    Raises:
        FastcamError: `keep` is out of its range.
    """

    def __init__(self, keep: float) -> None:
        if not 0 <= keep < 1:
            raise FastcamError(f"smoothing of {keep} is not at least 0 and below 1")
        self._keep = keep
        self._means: dict[str, Array] = {}

    def __call__(self, maps: Mapping[str, Array]) -> Mapping[str, Array]:
        """The smoothed maps, types and shapes unchanged.

        A map that is new or has a new size starts again; so does a pixel whose mean is not finite.
        """
        if not self._keep:
            return maps
        for name in [name for name in self._means if name not in maps]:
            del self._means[name]
        return {name: self._smooth(name, values) for name, values in maps.items()}

    def reset(self) -> None:
        """Forget earlier maps, e.g. when the next maps are of another class."""
        self._means.clear()

    def _smooth(self, name: str, values: Array) -> Array:
        mean = self._means.get(name)
        if mean is None or mean.shape != values.shape:
            self._means[name] = values.astype(np.float32)
            return values
        cv2.accumulateWeighted(values, mean, 1 - self._keep)
        np.copyto(mean, values, where=~np.isfinite(mean))
        smoothed: Array = np.rint(mean).astype(values.dtype) if values.dtype == np.uint8 else mean.copy()
        return smoothed
