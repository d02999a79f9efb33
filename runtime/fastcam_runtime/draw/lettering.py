"""Text of one size, in a font without slashed zeros if OpenCV has one."""

from __future__ import annotations

import bisect
import unicodedata
from dataclasses import dataclass

import cv2

from ..image import Image
from ..text import printable

_SMALLEST = 9
_LONGEST = 500
"""Most characters of a line: more do not fit into a picture, and measuring them takes time."""
_WHITE = (255, 255, 255)

_HERSHEY = cv2.FONT_HERSHEY_SIMPLEX
_HERSHEY_CAPITAL = 21.0
"""Pixels of a capital letter of the Hershey font at scale 1."""

_ANY_SCRIPT = int(cv2.__version__.partition(".")[0]) >= 5
"""OpenCV 5 draws TrueType fonts. Before, there are only strokes of ASCII characters."""
_FACE = cv2.FontFace("uni") if _ANY_SCRIPT else None
"""The built-in font with all scripts. OpenCV's default one slashes its zeros, which look like eights."""
_FACE_CAPITAL = 0.76
"""Height of a capital letter as a share of the font's size."""
_REGULAR = 400


@dataclass(frozen=True)
class Lettering:
    """Letters of one size: capitals are `height` pixels high."""

    height: int

    @classmethod
    def for_picture(cls, height: int, width: int) -> Lettering:
        """A size that suits a frame, from 320 pixels to 4K."""
        return cls(max(_SMALLEST, round(min(height / 40, width / 64))))

    @property
    def size(self) -> int:
        """Size of the TrueType font."""
        return max(1, round(self.height / _FACE_CAPITAL))

    @property
    def scale(self) -> float:
        """Scale of the Hershey font."""
        return self.height / _HERSHEY_CAPITAL

    @property
    def stroke(self) -> int:
        """Line width of the Hershey font."""
        return max(1, round(self.height / 9))

    def width(self, text: str) -> int:
        """The width of a line of text in pixels."""
        if _FACE is not None:
            return int(cv2.getTextSize((0, 0), text, (0, 0), _FACE, self.size, _REGULAR)[2])
        return int(cv2.getTextSize(text, _HERSHEY, self.scale, self.stroke)[0][0])

    def fit(self, text: str, room: int) -> str:
        """The text, shortened until it is at most `room` pixels wide."""
        if self.width(text) <= room:
            return text
        # The longest prefix that fits, by bisection: measuring takes time, and a label may be long.
        kept = bisect.bisect_right(range(len(text)), room, key=lambda end: self.width(text[:end] + "..")) - 1
        return f"{text[:kept].rstrip()}.." if kept > 0 else ""

    def put(self, picture: Image, text: str, x: int, y: int, colour: tuple[int, int, int] = _WHITE) -> None:
        """Write a line into a BGR picture: left edge `x`, baseline `y`, with the characters of `plain`."""
        if _FACE is not None:
            cv2.putText(picture, text, (x, y), colour, _FACE, self.size, _REGULAR)
        else:
            cv2.putText(picture, text, (x, y), _HERSHEY, self.scale, colour, self.stroke, cv2.LINE_AA)


def plain(text: str) -> str:
    """The text in characters of the font: before OpenCV 5, without accents, and `?` for other scripts."""
    text = printable(text, _LONGEST)
    if _ANY_SCRIPT:
        return text
    plain = unicodedata.normalize("NFKD", text.replace("×", "x"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return plain.encode("ascii", "replace").decode()
