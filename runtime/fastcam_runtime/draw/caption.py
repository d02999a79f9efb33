"""Text in a picture: the row with label and figures, legible from 320 pixels to 4K."""

from __future__ import annotations

import cv2

from ..image import Array, Image
from .lettering import Lettering, plain

PLACES = ("below", "inside", "none")
"""Where the caption goes: below the frame, over its lower edge, or nowhere."""

_SMALLEST_IN_CORNER = 6
"""Smallest font height of a tile's caption: tiles are small, and the text must stay legible."""


def row_height(height: int, width: int) -> int:
    """Height of a row of text for a frame of this size; even, because video encoders need even sizes."""
    letters = Lettering.for_picture(height, width)
    return 2 * ((5 * letters.height) // 4)


def answer(label: str, score: float | None) -> str:
    """The network's answer as text: `tabby 87%`; empty without a class."""
    return "" if score is None else f"{label} {score:.0%}"


def write_row(row: Image, letters: Lettering, left: str, right: str) -> None:
    """Write into a row of a BGR picture, in place.

    The text on the left is more important: shortened if necessary, and kept if there is no room for both.
    """
    height, width = row.shape[:2]
    margin = letters.height
    left, right = plain(left), plain(right)
    baseline = height - (height - letters.height) // 2
    room = width - 2 * margin
    needed = letters.width(right)
    if right and needed <= room - 8 * letters.height:
        letters.put(row, right, width - margin - needed, baseline)
        room -= needed + margin
    letters.put(row, letters.fit(left, room), margin, baseline)


def write_corner(picture: Image, text: str) -> None:
    """Write a short text on a dark background in the upper left corner of a BGR picture, in place.

    The font shrinks until the text fits, but not below a legible size.
    """
    text = plain(text)
    letters = Lettering.for_picture(*picture.shape[:2])
    while letters.height > _SMALLEST_IN_CORNER and letters.width(text) > picture.shape[1] - letters.height:
        letters = Lettering(letters.height - 1)
    margin = letters.height // 2
    text = letters.fit(text, picture.shape[1] - 2 * margin)
    width = min(picture.shape[1], letters.width(text) + 2 * margin)
    darken(picture[: letters.height + 2 * margin, :width])
    letters.put(picture, text, margin, margin + letters.height)


def darken(part: Array) -> None:
    """Darken a part of a picture as the background of text, in place."""
    cv2.convertScaleAbs(part, alpha=0.3, dst=part)
