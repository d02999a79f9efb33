"""Boxes with labels, drawn into a picture."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import cv2

from ..detect.detections import Detection
from ..image import Array, Rect
from .lettering import Lettering, plain

_GOLDEN = 0.618034
"""Step of the hue (golden ratio): neighbouring classes look different for any number of classes."""
_SHADES = ((0.75, 1.0), (0.4, 1.0), (0.9, 0.71), (0.45, 0.75))
"""Saturation and brightness of every 21 classes: after 21 or 34 steps a hue nearly repeats."""
_DARK, _LIGHT = (20, 20, 20), (255, 255, 255)


@cache
def class_colour(index: int) -> tuple[int, int, int]:
    """The colour of a class, blue-green-red; the same for every picture."""
    # The first class is a green that no colour map of the overlay contains.
    red, green, blue = colorsys.hsv_to_rgb((0.36 + index * _GOLDEN) % 1, *_SHADES[index // 21 % len(_SHADES)])
    return round(255 * blue), round(255 * green), round(255 * red)


def draw_boxes(
    picture: Array, detections: Sequence[Detection], *, left: int = 0, chosen: Detection | None = None
) -> None:
    """Draw boxes with label and score into a BGR picture, in place, the best one on top.

    The frame begins at column `left` of the picture. Labels lie over all boxes. One that would cover another
    label moves along its box, if there is room. The `chosen` box, which the map explains, has a double line.
    """
    height, width = picture.shape[:2]
    letters = Lettering.for_picture(height, width - left)
    letters = Lettering(max(6, round(0.8 * letters.height)))
    line = max(1, round(min(height, width - left) / 240))
    edge = max(1, line // 3)
    for found in reversed(detections):
        colour = class_colour(found.index)
        x0, y0, x1, y1 = (round(value) for value in found.box)
        corner, opposite = (left + x0, y0), (left + x1 - 1, y1 - 1)
        cv2.rectangle(picture, corner, opposite, _DARK, line + 2 * edge, cv2.LINE_AA)
        cv2.rectangle(picture, corner, opposite, colour, line * (2 if found == chosen else 1), cv2.LINE_AA)
    tags: list[_Tag] = []
    for found in detections:
        tags.append(_place(picture, found, left, letters, [tag.place for tag in tags]))
    for tag in reversed(tags):
        _write(picture, tag, letters)


class _Tag(NamedTuple):
    """A label and its place."""

    text: str
    place: Rect
    colour: tuple[int, int, int]


def _place(picture: Array, found: Detection, left: int, letters: Lettering, taken: Sequence[Rect]) -> _Tag:
    """The label above its box, else inside or below it: the first place that covers no other label."""
    height, width = picture.shape[:2]
    margin = max(2, letters.height // 2)
    text = letters.fit(plain(f"{found.label} {found.score:.0%}"), width - left - 2 * margin)
    high, wide = letters.height + 2 * margin, letters.width(text) + 2 * margin
    x0, y0, x1, y1 = (round(value) for value in found.box)
    rights = max(left, width - wide)
    columns = [min(left + max(0, x0), rights), max(left, min(left + x1 - wide, rights))]
    rows = [y for y in (y0 - high, y0, y1, y1 - high) if 0 <= y <= height - high]
    places = [Rect(x, y, wide, high) for y in rows for x in columns]
    free = (place for place in places if not any(_overlap(place, other) for other in taken))
    first = places[0] if places else Rect(columns[0], max(0, min(y0, height - high)), wide, high)
    return _Tag(text, next(free, first), class_colour(found.index))


def _overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def _write(picture: Array, tag: _Tag, letters: Lettering) -> None:
    """Write a label on a background of its class's colour."""
    margin, place = max(2, letters.height // 2), tag.place
    bottom = place.y + place.height
    cv2.rectangle(picture, (place.x, place.y), (place.x + place.width, bottom), tag.colour, -1)
    bright = 0.114 * tag.colour[0] + 0.587 * tag.colour[1] + 0.299 * tag.colour[2] > 110
    letters.put(picture, tag.text, place.x + margin, bottom - margin, _DARK if bright else _LIGHT)


def show_inside(picture: Array, frame: Array, detections: Sequence[Detection]) -> Array:
    """The picture inside the boxes, the frame everywhere else; a new array."""
    result: Array = frame.copy()
    for found in detections:
        x0, y0, x1, y1 = (round(value) for value in found.box)
        result[y0:y1, x0:x1] = picture[y0:y1, x0:x1]
    return result
