"""Colours for values in 0…1: tables of 256 BGR entries."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np

from ..errors import FastcamError, closest
from ..image import Array

DEFAULT = "inferno"

_CODES = {
    "inferno": cv2.COLORMAP_INFERNO,
    "viridis": cv2.COLORMAP_VIRIDIS,
    "magma": cv2.COLORMAP_MAGMA,
    "plasma": cv2.COLORMAP_PLASMA,
    "cividis": cv2.COLORMAP_CIVIDIS,
    "turbo": cv2.COLORMAP_TURBO,
    "jet": cv2.COLORMAP_JET,
}

COLORMAPS = (*_CODES, "gray")
"""The first five are perceptually uniform (equal steps in a map look equal); turbo and jet are not."""


@cache
def table(name: str) -> Array:
    """The 256×1×3 uint8 table of a colour map, in OpenCV's blue-green-red, as `cv2.applyColorMap` takes it.

    Raises:
        FastcamError: There is no such colour map.
    """
    if name not in COLORMAPS:
        raise FastcamError(f"no colour map {name!r}; one of {', '.join(COLORMAPS)}{closest(name, COLORMAPS)}")
    ramp = np.arange(256, dtype=np.uint8)[:, None]
    colours: Array = (
        cv2.cvtColor(ramp, cv2.COLOR_GRAY2BGR) if name == "gray" else cv2.applyColorMap(ramp, _CODES[name])
    )
    colours.setflags(write=False)
    return colours
