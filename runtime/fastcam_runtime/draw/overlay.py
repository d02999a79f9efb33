"""Draw a map over the frame it belongs to, at the frame's own size and geometry."""

from __future__ import annotations

import cv2
import numpy as np

from ..errors import FastcamError
from ..image import Array, Geometry, check_frame
from ..native import blending
from . import colormaps

BLENDS = ("colour", "paper")
"""`colour` lays the map over the frame in its colours; `paper` over a gray one, as in the paper's figures."""

PAPER_GRAY = 0.25
"""The share of the gray frame in the blend `paper`; the map has the rest."""


class Overlay:
    """Draws maps over frames, in buffers that are reused while the frame size stays the same.

    Outside of what the network saw (the resize `crop`), the frame is darkened as if the map were black there.

    Args:
        colormap: A name of `colormaps.COLORMAPS`.
        alpha: The share of the map in the picture, 0…1; the blend `paper` has its own.
        blend: `colour` or `paper`.
        compiled: Use the compiled blend where it was built; the picture is the same.

    Raises:
        FastcamError: An argument is out of range or unknown.
    """

    def __init__(
        self,
        colormap: str = colormaps.DEFAULT,
        alpha: float = 0.5,
        blend: str = "colour",
        *,
        compiled: bool = True,
    ) -> None:
        if not 0 <= alpha <= 1:
            raise FastcamError(f"alpha is {alpha}, not between 0 and 1")
        if blend not in BLENDS:
            raise FastcamError(f"no blend {blend!r}; one of {', '.join(BLENDS)}")
        table = colormaps.table(colormap)
        self._colours = _packed(table)
        self._half_colours = _packed(table - table // 2)
        self._gray_frame = blend == "paper"
        self._alpha = 1 - PAPER_GRAY if blend == "paper" else alpha
        self._compiled = compiled
        self._heat: Array = np.zeros((0, 0, 3), np.uint8)
        self._picture = self._heat
        self._seen: object = None

    def draw(self, frame: Array, saliency: Array, geometry: Geometry | None = None) -> Array:
        """The frame with the map over it.

        Args:
            frame: uint8; H×W, H×W×3 BGR or H×W×4 BGRA.
            saliency: h×w in 0…1, or h×w×3 uint8 RGB (LOVI).
            geometry: The explanation's; without it the map covers the whole frame.

        Returns:
            H×W×3 BGR uint8, overwritten by the next call.
        """
        size = check_frame(frame).shape[:2]
        _check_map(saliency)
        if geometry is not None and geometry.frame != size:
            theirs = "×".join(map(str, geometry.frame))
            raise FastcamError(
                f"the map belongs to a frame of {theirs} pixels, not {'×'.join(map(str, size))}"
            )
        geometry = geometry or Geometry.lay((size[0], size[1]), saliency.shape[:2], "stretch")
        self._fit(geometry)
        if self._gray_frame:
            base = cv2.cvtColor(to_gray(frame), cv2.COLOR_GRAY2BGR, dst=self._picture)
        else:
            base = to_bgr(frame)
        if self._alpha == 0.5 and saliency.ndim == 2:
            self._draw_halves(base, saliency, geometry)
        else:
            heat = self.heat(saliency, geometry)
            cv2.addWeighted(base, 1 - self._alpha, heat, self._alpha, 0, dst=self._picture)
        return self._picture

    def heat(self, saliency: Array, geometry: Geometry) -> Array:
        """The map alone in its colours, at the frame's size, black outside of what the network saw.

        Returns:
            H×W×3 BGR uint8, overwritten by the next call.
        """
        _check_map(saliency)
        self._fit(geometry)
        if saliency.ndim == 3:
            seen, part = geometry.seen, cv2.cvtColor(geometry.undo(saliency), cv2.COLOR_RGB2BGR)
            cv2.resize(part, (seen.width, seen.height), dst=seen.of(self._heat))
        else:
            self._colour(self._levels_of(saliency, geometry), self._colours, geometry)
        return self._heat

    def _draw_halves(self, base: Array, saliency: Array, geometry: Geometry) -> None:
        """Half of the frame and half of the map, rounded to half a level: far faster than other weights."""
        seen, levels = geometry.seen, self._levels_of(saliency, geometry)
        blend_halves = blending.load() if self._compiled else None
        if np.may_share_memory(base, self._picture):
            base = base.copy()  # the caller passed the last picture as the frame
        if blend_halves is None or levels.shape != geometry.frame:
            np.right_shift(base, 1, out=self._picture)
        if blend_halves is not None:
            blend_halves(seen.of(base), levels, self._half_colours, seen.of(self._picture))
        else:
            self._colour(levels, self._half_colours, geometry)
            cv2.add(self._picture, self._heat, dst=self._picture)

    def _levels_of(self, saliency: Array, geometry: Geometry) -> Array:
        """The map as bytes, at the size of the part of the frame that it covers."""
        # To bytes before enlarging: the values become one of 256 colours in any case.
        small = cv2.convertScaleAbs(geometry.undo(saliency), alpha=255)
        return np.asarray(cv2.resize(small, self._levels.shape[::-1], dst=self._levels))

    def _colour(self, levels: Array, colours: Array, geometry: Geometry) -> None:
        """Write the colours of the levels into the buffer of the heat map."""
        packed = cv2.LUT(levels, colours, dst=self._packed)
        pixels = packed.view(np.uint8).reshape(*packed.shape, 4)
        cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR, dst=geometry.seen.of(self._heat))

    def _fit(self, geometry: Geometry) -> None:
        """Allocate buffers for this geometry, black outside of what the network saw."""
        if self._seen == (geometry.frame, geometry.seen):
            return
        self._seen = (geometry.frame, geometry.seen)
        self._heat = np.zeros((*geometry.frame, 3), np.uint8)
        self._picture = np.empty_like(self._heat)
        self._levels: Array = np.empty((geometry.seen.height, geometry.seen.width), np.uint8)
        self._packed: Array = np.empty(self._levels.shape, np.int32)


def _check_map(saliency: Array) -> None:
    if not isinstance(saliency, np.ndarray):
        raise FastcamError(f"a map must be an array, not {type(saliency).__name__}")
    rgb = saliency.ndim == 3 and saliency.shape[2] == 3 and saliency.dtype == np.uint8
    if not (saliency.ndim == 2 or rgb) or saliency.size == 0:
        shape = "×".join(map(str, saliency.shape))
        raise FastcamError(f"a map must be H×W, or H×W×3 uint8, not {shape} {saliency.dtype}")


def _packed(table: Array) -> Array:
    """The 256 colours of a BGR table as one int32 each: a lookup takes half the time of three channels."""
    colours = np.zeros((256, 4), np.uint8)
    colours[:, :3] = table.reshape(256, 3)
    return colours.view(np.int32).reshape(256, 1)


def overlay(
    frame: Array,
    saliency: Array,
    geometry: Geometry | None = None,
    *,
    colormap: str = colormaps.DEFAULT,
    alpha: float = 0.5,
    blend: str = "colour",
) -> Array:
    """The frame with the map over it, as a new picture; `Overlay` does the same for many frames.

    Args:
        frame: uint8; H×W×3 BGR, gray or BGRA.
        saliency: A map of an `Explanation`.
        geometry: `explanation.geometry`; needed where the model was exported with `crop` or `letterbox`.
        colormap: A name of `colormaps.COLORMAPS`.
        alpha: The share of the map in the picture, 0…1.
        blend: `colour`, or `paper` for the paper's: a gray frame at 25 %.

    Example:
        >>> import numpy as np
        >>> overlay(np.zeros((480, 640, 3), np.uint8), np.ones((224, 224), np.float32)).shape
        (480, 640, 3)
    """
    return Overlay(colormap, alpha, blend).draw(frame, saliency, geometry)


def to_bgr(frame: Array) -> Array:
    """A gray, BGR or BGRA frame as BGR (itself if it is one)."""
    frame = check_frame(frame)
    if frame.ndim == 2:
        frame = cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR)
    elif frame.shape[2] == 4:
        frame = cv2.cvtColor(frame, cv2.COLOR_BGRA2BGR)
    return frame


def to_gray(frame: Array) -> Array:
    """A gray, BGR or BGRA frame as H×W (itself if it is gray)."""
    frame = check_frame(frame)
    if frame.ndim == 3:
        frame = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY if frame.shape[2] == 3 else cv2.COLOR_BGRA2GRAY)
    return frame
