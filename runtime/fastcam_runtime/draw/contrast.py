"""The contrast of a map: nothing is shown below its median, and all of it from its 99.5th percentile on."""

from __future__ import annotations

import math

import numpy as np

from ..image import Array

LOW, HIGH = 50.0, 99.5
"""Percentiles of the map between which the opacity grows."""

_SAMPLES = 2**14
"""Pixels that the percentiles are taken over, at most: larger maps are sampled on a regular grid."""


class Contrast:
    """The limits of each map, as a steady mean over the frames of a video.

    Limits that follow every frame alone would make the brightness of a video pump.

    Args:
        keep: The share of the past in the limits, 0 (each map for itself) to below 1.
    """

    def __init__(self, keep: float = 0.0) -> None:
        self._keep = keep
        self._limits: tuple[float, float] | None = None

    def __call__(self, saliency: Array) -> tuple[float, float]:
        """The values of no and of full opacity; equal for a constant map, of which nothing is shown."""
        low, high = limits(saliency)
        if self._limits is not None and self._keep:
            low, high = (
                self._keep * past + (1 - self._keep) * now
                for past, now in zip(self._limits, (low, high), strict=True)
            )
        self._limits = low, high
        return low, high

    def reset(self) -> None:
        """Forget the past: the next map is about something else."""
        self._limits = None


def limits(saliency: Array) -> tuple[float, float]:
    """The median and the 99.5th percentile; the maximum where so few pixels are bright that both are one.

    Values that are not finite are ignored; a map without any other gives 0 and 0.
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
