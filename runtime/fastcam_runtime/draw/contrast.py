"""The contrast of a map: transparent below its median, opaque from its 99.5th percentile on."""

from __future__ import annotations

import math

import numpy as np

from ..image import Array

LOW, HIGH = 50.0, 99.5
"""Percentiles of the map between which the opacity grows."""

_SAMPLES = 2**12
"""Pixels that the percentiles are taken over, at most: larger maps are sampled on a regular grid."""


class Contrast:
    """The limits of each map, as an exponential mean over the frames of a video.

    Limits of every frame alone would make the brightness of a video flicker. `keep` is the weight of earlier
    limits, 0 (none) to below 1.
    """

    def __init__(self, keep: float = 0.0) -> None:
        self._keep = keep
        self._limits: tuple[float, float] | None = None

    def __call__(self, saliency: Array) -> tuple[float, float]:
        """The map values of zero and of full opacity; equal for a constant map, which is not shown."""
        low, high = limits(saliency)
        if self._limits is not None and self._keep:
            low, high = (
                self._keep * past + (1 - self._keep) * now
                for past, now in zip(self._limits, (low, high), strict=True)
            )
        self._limits = low, high
        return low, high

    def reset(self) -> None:
        """Forget earlier maps: the next one is of another class or scene."""
        self._limits = None


def limits(saliency: Array) -> tuple[float, float]:
    """The median and the 99.5th percentile; the maximum instead if both are equal, with few bright pixels.

    Values that are not finite are ignored; a map without finite values gives 0 and 0.
    """
    step = math.ceil(math.sqrt(saliency.size / _SAMPLES))
    values = saliency[::step, ::step].ravel()
    finite = np.isfinite(values)
    if not finite.all():
        values = values[finite]
    if not values.size:
        return 0.0, 0.0
    ranks = [round(percent / 100 * (values.size - 1)) for percent in (LOW, HIGH)]
    ordered = np.partition(values, ranks)
    low, high = float(ordered[ranks[0]]), float(ordered[ranks[1]])
    if high <= low:
        high = float(np.nanmax(np.where(np.isfinite(saliency), saliency, low)))
    return low, max(low, high)
