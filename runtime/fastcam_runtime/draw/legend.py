"""Legends: the colours of a map's values, and LOVI's colours of scales."""

from __future__ import annotations

import cv2
import numpy as np

from ..image import Image
from . import colormaps
from .lettering import Lettering

LOVI_FIRST_HUE = 300.0
"""The hue of the first scale in degrees, violet; the last scale is red, 0."""

MUTED = (176, 168, 160)
"""BGR colour of secondary text."""


_EDGE = (96, 92, 88)
"""BGR colour of a bar's outline: the lowest colour of most maps is black, as the row is."""


def write_legend(row: Image, letters: Lettering, *, lovi: bool, colormap: str = colormaps.DEFAULT) -> None:
    """Draw a colour bar with its two ends named, in a row of a BGR picture, in place.

    With `lovi` it has the hues of LOVI, first to last scale; else the colours of a map, low to high.
    """
    low, high = ("first scale", "last scale") if lovi else ("low", "high")
    height, width = row.shape[:2]
    margin = letters.height
    baseline = height - (height - letters.height) // 2
    left, right = 2 * margin + letters.width(low), width - 2 * margin - letters.width(high)
    length = min(right - left, 24 * letters.height)
    if length < 2 * letters.height:
        return
    letters.put(row, low, margin, baseline, MUTED)
    bar = row[baseline - letters.height : baseline + 1, left : left + length]
    bar[:] = lovi_colors(length, 1) if lovi else map_colors(length, 1, colormap)
    cv2.rectangle(row, (left - 1, baseline - letters.height - 1), (left + length, baseline + 1), _EDGE)
    letters.put(row, high, left + length + margin, baseline, MUTED)


def map_colors(width: int, height: int, colormap: str = colormaps.DEFAULT) -> Image:
    """The colours of 0…1 from left to right, height×width×3 BGR."""
    levels = np.linspace(0, 255, width).round().astype(np.uint8)
    ramp: Image = cv2.applyColorMap(np.tile(levels, (height, 1)), colormaps.table(colormap))
    return ramp


def lovi_colors(width: int, height: int) -> Image:
    """LOVI's colours at full strength, height×width×3 BGR.

    From left to right: the first to the last scale. From top to bottom: one scale alone to all scales equal.
    """
    hsv = np.ones((height, width, 3), np.float32)
    hsv[..., 0] = np.linspace(LOVI_FIRST_HUE, 0, width)
    hsv[..., 1] = np.linspace(1, 0, height)[:, None] if height > 1 else 1
    colors: Image = np.rint(255 * cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR)).astype(np.uint8)
    return colors
