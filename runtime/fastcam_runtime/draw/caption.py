"""Text in a picture: the bar with label and figures, legible from 320 pixels to 4K."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import cv2

from ..image import Array, Rect

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_CAP_HEIGHT = 21.0
"""Pixels of a capital letter of the font at scale 1."""
_SMALLEST = 9
_SMALLEST_IN_CORNER = 6
"""A tile of a grid is small, and figures that are cut off say nothing."""
_ANY_SCRIPT = int(cv2.__version__.partition(".")[0]) >= 5
_WHITE = (255, 255, 255)


@dataclass(frozen=True)
class Lettering:
    """Letters of one size: capitals are `height` pixels high."""

    height: int

    @classmethod
    def for_picture(cls, height: int, width: int) -> Lettering:
        """A size that suits a frame, from 320 pixels to 4K."""
        return cls(max(_SMALLEST, round(min(height / 40, width / 64))))

    @property
    def scale(self) -> float:
        return self.height / _CAP_HEIGHT

    @property
    def stroke(self) -> int:
        return max(1, round(self.height / 9))

    def width(self, text: str) -> int:
        """Pixels that a line of text takes."""
        return int(cv2.getTextSize(text, _FONT, self.scale, self.stroke)[0][0])

    def fit(self, text: str, room: int) -> str:
        """The text, shortened until it is at most `room` pixels wide."""
        if self.width(text) <= room:
            return text
        while text and self.width(text + "..") > room:
            text = text[:-1]
        return f"{text.rstrip()}.." if text else ""

    def put(self, picture: Array, text: str, x: int, y: int, colour: tuple[int, int, int] = _WHITE) -> None:
        """Write a line into a BGR picture, from `x` on, baseline at `y`, in characters that `plain` gives."""
        cv2.putText(picture, text, (x, y), _FONT, self.scale, colour, self.stroke, cv2.LINE_AA)


def bar_height(height: int, width: int) -> int:
    """Pixels at the lower edge of a picture of this size that `write_bar` writes on."""
    letters = Lettering.for_picture(height, width)
    return min(height, 2 * letters.height + letters.height // 2)


def answer(label: str, score: float | None) -> str:
    """What the network says, in words: `tabby 87%`; nothing where it tells no class."""
    return "" if score is None else f"{label} {score:.0%}"


def write_bar(picture: Array, left: str, right: str) -> None:
    """Darken the lower edge of a BGR picture, in place, and write on it.

    Args:
        picture: The picture.
        left: The more important text: shortened if it must be, and kept when there is no room for both.
        right: Figures, at the right end.
    """
    height, width = picture.shape[:2]
    letters = Lettering.for_picture(height, width)
    margin = letters.height
    bar = bar_height(height, width)
    _darken(Rect(0, height - bar, width, bar).of(picture))
    left, right = plain(left), plain(right)
    baseline = height - (bar - letters.height) // 2
    room = width - 2 * margin
    needed = letters.width(right)
    if right and needed <= room - 8 * letters.height:
        letters.put(picture, right, width - margin - needed, baseline)
        room -= needed + margin
    letters.put(picture, letters.fit(left, room), margin, baseline)


def write_corner(picture: Array, text: str) -> None:
    """Write a short text on a dark ground in the upper left corner of a BGR picture, in place.

    In letters that let all of it fit, if they need not be too small for that.
    """
    text = plain(text)
    letters = Lettering.for_picture(*picture.shape[:2])
    while letters.height > _SMALLEST_IN_CORNER and letters.width(text) > picture.shape[1] - letters.height:
        letters = Lettering(letters.height - 1)
    margin = letters.height // 2
    text = letters.fit(text, picture.shape[1] - 2 * margin)
    width = min(picture.shape[1], letters.width(text) + 2 * margin)
    _darken(picture[: letters.height + 2 * margin, :width])
    letters.put(picture, text, margin, margin + letters.height)


def _darken(part: Array) -> None:
    cv2.convertScaleAbs(part, alpha=0.3, dst=part)


def plain(text: str) -> str:
    """The text in the characters that the font has: before OpenCV 5, accents dropped and the rest as `?`."""
    if _ANY_SCRIPT:
        return text
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return plain.encode("ascii", "replace").decode()
