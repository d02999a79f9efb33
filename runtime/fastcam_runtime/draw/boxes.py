"""Boxes with labels, drawn into a picture."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from functools import cache

import cv2

from ..detect.detections import Detection
from ..image import Array
from .lettering import Lettering, plain

_GOLDEN = 0.618034
"""Step of the hue (golden ratio): neighbouring classes look different for any number of classes."""
_DARK, _LIGHT = (20, 20, 20), (255, 255, 255)


@cache
def class_colour(index: int) -> tuple[int, int, int]:
    """The colour of a class, blue-green-red; the same for every picture."""
    # The first class is a green that no colour map of the overlay contains.
    red, green, blue = colorsys.hsv_to_rgb((0.36 + index * _GOLDEN) % 1, 0.75, 1.0)
    return round(255 * blue), round(255 * green), round(255 * red)


def draw_boxes(
    picture: Array, detections: Sequence[Detection], *, left: int = 0, chosen: Detection | None = None
) -> None:
    """Draw boxes with label and score into a BGR picture, in place, the best one on top.

    Args:
        picture: The picture; the frame begins at its column `left`.
        detections: The detections in the frame.
        left: The left edge of the frame in the picture.
        chosen: The detection that the map explains: drawn with a double line.
    """
    height, width = picture.shape[:2]
    letters = Lettering.for_picture(height, width - left)
    letters = Lettering(max(6, round(0.8 * letters.height)))
    line = max(1, round(min(height, width - left) / 240))
    for found in reversed(detections):
        colour = class_colour(found.index)
        x0, y0, x1, y1 = (round(value) for value in found.box)
        corner, opposite = (left + x0, y0), (left + x1 - 1, y1 - 1)
        cv2.rectangle(picture, corner, opposite, _DARK, line + 2, cv2.LINE_AA)
        cv2.rectangle(picture, corner, opposite, colour, line * (2 if found == chosen else 1), cv2.LINE_AA)
        _tag(picture, found, left, letters, colour)


def _tag(
    picture: Array, found: Detection, left: int, letters: Lettering, colour: tuple[int, int, int]
) -> None:
    """The label on a background of the class's colour: above the box, or inside it at the upper edge."""
    height, width = picture.shape[:2]
    margin = max(2, letters.height // 2)
    text = letters.fit(plain(f"{found.label} {found.score:.0%}"), width - left - 2 * margin)
    high, wide = letters.height + 2 * margin, letters.width(text) + 2 * margin
    x = min(left + max(0, round(found.box[0])), max(left, width - wide))
    y = round(found.box[1]) - high
    y = y if y >= 0 else max(0, min(round(found.box[1]), height - high))
    cv2.rectangle(picture, (x, y), (x + wide, y + high), colour, -1)
    bright = 0.114 * colour[0] + 0.587 * colour[1] + 0.299 * colour[2] > 110
    letters.put(picture, text, x + margin, y + high - margin, _DARK if bright else _LIGHT)


def show_inside(picture: Array, frame: Array, detections: Sequence[Detection]) -> Array:
    """The picture inside the boxes, the frame everywhere else; a new array."""
    result: Array = frame.copy()
    for found in detections:
        x0, y0, x1, y1 = (round(value) for value in found.box)
        result[y0:y1, x0:x1] = picture[y0:y1, x0:x1]
    return result
