"""The outline of a map's brightest share."""

from __future__ import annotations

import cv2
import numpy as np

from ..errors import FastcamError
from ..image import Array, Geometry, Image
from ..regions import SPECK

_LINES = (((0, 0, 0), 3), ((255, 255, 255), 1))
"""A white line on a wider black line is visible on any background; widths relative to the line width."""


def parse_share(text: str) -> float:
    """`10%` or `0.1` as 0.1.

    Raises:
        FastcamError: The text is not a share above 0 and below 1.
    """
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise FastcamError(f"{text!r} is not a share between 0 and 100 %, such as 10%")
    return share


def outlines(saliency: Array, share: float, geometry: Geometry) -> list[Array]:
    """The closed outlines of the brightest `share` of a map, in pixels of the frame, without specks.

    Returns:
        Arrays of K×1×2 int32, as `cv2.polylines` takes them; none if the map is constant.
    """
    part = np.nan_to_num(geometry.undo(saliency))
    limit = np.quantile(part, 1 - share)
    # Values at the limit are included, unless they are the minimum: never all of a constant map.
    mask = part >= limit if (part < limit).any() else part > limit
    seen = geometry.seen
    grown = cv2.resize(255 * mask.astype(np.uint8), (seen.width, seen.height), interpolation=cv2.INTER_LINEAR)
    found, _ = cv2.findContours(
        (grown > 127).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE, offset=(seen.x, seen.y)
    )
    least = SPECK * share * seen.width * seen.height
    return [contour for contour in found if cv2.contourArea(contour) >= least]


def draw_outlines(picture: Image, contours: list[Array]) -> None:
    """Draw outlines into a BGR picture, in place; the line width follows the picture's size."""
    unit = max(1, round(min(picture.shape[:2]) / 480))
    for colour, width in _LINES:
        cv2.polylines(picture, contours, True, colour, unit * width, cv2.LINE_AA)
