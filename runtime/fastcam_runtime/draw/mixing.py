"""Blend a frame with the colours of a map: by the compiled blend, or by OpenCV with the same result."""

from __future__ import annotations

import cv2
import numpy as np

from ..image import Array, Image
from ..native import blending

CLEAR = 255
"""The transparent level, if the opacity follows the map."""

_BAND = 2**17
"""Levels per step of OpenCV: few enough for the cache, and enough that calls cost little."""


class Mixer:
    """Writes `round(frame · keep / 255) + added` for each pixel; `keep` and `added` belong to its level.

    Args:
        colours: The 256×1×3 table of a colour map.
        alpha: The opacity of the map, 0…1.
        follows: The opacity follows the map: a level is the weight of the frame, from `CLEAR` down to
            255·(1 − alpha). Else it is the colour's place in the table, and the weight is the same for all.
        compiled: Use the compiled blend if it was built.
    """

    def __init__(self, colours: Array, alpha: float, follows: bool, compiled: bool) -> None:
        self._follows = follows
        self._compiled = compiled
        self.darkest = 255 - round(255 * alpha)
        levels = np.arange(256)
        keep = np.maximum(levels, self.darkest) if follows else np.full(256, self.darkest)
        index = np.rint((255 - keep) * 255 / max(1, 255 - self.darkest)).astype(int) if follows else levels
        added = np.rint(colours.reshape(256, 3)[index] * (255 - keep[:, None]) / 255)
        self._table = np.column_stack([added, keep]).astype(np.uint8)
        self._room: Array = np.zeros((2, 0, 0, 3), np.uint8)
        self._packed: Array = np.zeros((0, 0), np.int32)

    def __call__(self, frame: Image, levels: Array, picture: Image) -> None:
        """Draw into `picture`, which is like the frame, H×W×3 uint8, in other memory.

        The levels are h×W uint8: a row of them applies to ⌈H/h⌉ rows of the frame.
        """
        blend_levels = blending.load() if self._compiled else None
        if blend_levels is not None:
            blend_levels(frame, levels, self._table, picture)
        else:
            self._mix_plainly(frame, levels, picture)

    def _mix_plainly(self, frame: Image, levels: Array, picture: Image) -> None:
        share, width = -(-frame.shape[0] // levels.shape[0]), levels.shape[1]
        height = min(levels.shape[0], max(1, _BAND // width))
        if self._room.shape[1:] != (height, width, 3):
            self._room = np.empty((2, height, width, 3), np.uint8)
            self._packed = np.empty((height, width), np.int32)
        for top in range(0, levels.shape[0], height):
            band = levels[top : top + height]
            packed = cv2.LUT(band, self._table.view(np.int32), dst=self._packed[: len(band)])
            keep, added = self._room[:, : len(band)]
            cv2.cvtColor(as_bytes(packed), cv2.COLOR_BGRA2BGR, dst=added)
            if self._follows:
                cv2.cvtColor(band, cv2.COLOR_GRAY2BGR, dst=keep)
            for row in range(share):
                rows = slice(share * top + row, share * (top + height), share)
                part, target = frame[rows], picture[rows]
                # A byte times a byte, divided by 255, is never halfway between integers: every way to compute
                # it rounds to the same one.
                if self._follows:
                    cv2.multiply(part, keep[: len(part)], dst=target, scale=1 / 255)
                else:
                    cv2.convertScaleAbs(part, alpha=self.darkest / 255, dst=target)
                cv2.add(target, added[: len(part)], dst=target)


def as_bytes(packed: Array) -> Array:
    """H×W int32 as H×W×4 uint8. One look-up of four bytes takes half the time of three."""
    return np.asarray(packed).view(np.uint8).reshape(*packed.shape, 4)
