"""Draw a map over its frame, at the frame's size and geometry."""

from __future__ import annotations

import cv2
import numpy as np

from ..errors import FastcamError, closest
from ..image import Array, Geometry, Image, check_frame
from . import colormaps
from .contour import draw_outlines, outlines
from .contrast import Contrast
from .mixing import CLEAR, Mixer, as_bytes

BLENDS = {"focus": 0.9, "colour": 0.5, "paper": 0.75}
"""Each blend, and its opacity. `focus`: the opacity follows the map, and the frame keeps its colours where
the map is low. `colour`: the same opacity everywhere. `paper`: over a gray frame, as in the paper's figures.
"""

DEFAULT_BLEND = "focus"

STEADY = 0.9
"""The weight of earlier frames in the contrast of a video: it follows a scene change within a second."""

_PAIRED_FROM = 3.0
"""How often a map is enlarged before two rows of the frame share a row of it, as two rows of a video share
their colours."""

_NARROWEST = 1e-4
"""The least contrast of a map, of its values, that needs no special care."""

_UNSEEN = 0.5
"""Brightness of the area outside the network's crop, in the blend `focus`."""


class Overlay:
    """Draws maps over frames, in buffers that are reused while the frame size stays the same.

    With the resize `crop`, the area outside the crop is darkened.

    Args:
        colormap: A name of `colormaps.COLORMAPS`.
        alpha: The opacity of the map, 0…1: the maximum in the blend `focus`, everywhere in the others. None
            means the default in `BLENDS`.
        blend: A name of `BLENDS`.
        compiled: Use the compiled blend if it was built; the picture is the same.
        contour: Outline the brightest share of the map, 0…1; None for no outline.
        steady: The weight of earlier frames in the contrast of `focus`, 0 to below 1; for videos.

    Raises:
        FastcamError: An argument is out of range or unknown.
    """

    def __init__(
        self,
        colormap: str = colormaps.DEFAULT,
        alpha: float | None = None,
        blend: str = DEFAULT_BLEND,
        *,
        compiled: bool = True,
        contour: float | None = None,
        steady: float = 0.0,
    ) -> None:
        if alpha is not None and not 0 <= alpha <= 1:
            raise FastcamError(f"alpha is {alpha}, not between 0 and 1")
        if blend not in BLENDS:
            raise FastcamError(f"no blend {blend!r}; one of {', '.join(BLENDS)}{closest(blend, BLENDS)}")
        self._blend = blend
        self._contour = contour
        self._compiled = compiled
        self.restyle(colormap, BLENDS[blend] if alpha is None else alpha)
        self._contrast = Contrast(steady)
        self._heat: Image = np.zeros((0, 0, 3), np.uint8)
        self._picture = self._heat
        self._levels: Array = np.zeros((0, 0), np.uint8)
        self._seen: object = None

    def restyle(self, colormap: str, alpha: float) -> None:
        """Change the colours and the opacity."""
        table = colormaps.table(colormap)
        self.colormap = colormap
        self._alpha = alpha
        self._colours = np.column_stack([table.reshape(256, 3), np.zeros(256, np.uint8)])
        self._mix = Mixer(table, alpha, self._blend == "focus", self._compiled)

    def reset(self) -> None:
        """Forget the contrast of earlier maps: the next one is of another class or scene."""
        self._contrast.reset()

    def draw(self, frame: Image, saliency: Array, geometry: Geometry | None = None) -> Image:
        """The frame with the map over it.

        Args:
            frame: uint8; H×W, H×W×3 BGR or H×W×4 BGRA.
            saliency: h×w in 0…1, or h×w×3 uint8 RGB (LOVI).
            geometry: `explanation.geometry`; without it the map covers the whole frame.

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
        base = to_bgr(to_gray(frame) if self._blend == "paper" else frame)
        if np.may_share_memory(base, self._picture):
            base = base.copy()  # the caller passed the last picture as the frame
        if saliency.ndim == 3:
            heat = self.heat(saliency, geometry)
            cv2.addWeighted(base, 1 - self._alpha, heat, self._alpha, 0, dst=self._picture)
            return self._picture
        seen = geometry.seen
        levels = self._levels_of(geometry.undo(saliency), seen.height, seen.width)
        if geometry.frame != (seen.height, seen.width):
            unseen = _UNSEEN if self._blend == "focus" else 1 - self._alpha
            cv2.convertScaleAbs(base, alpha=unseen, dst=self._picture)
        self._mix(seen.of(base), levels, seen.of(self._picture))
        if self._contour is not None:
            draw_outlines(self._picture, outlines(saliency, self._contour, geometry))
        return self._picture

    def heat(self, saliency: Array, geometry: Geometry) -> Image:
        """The map alone in its colours, at the frame's size, black outside the network's crop.

        Returns:
            H×W×3 BGR uint8, overwritten by the next call.
        """
        _check_map(saliency)
        self._fit(geometry)
        if saliency.ndim == 3:
            seen, part = geometry.seen, cv2.cvtColor(geometry.undo(saliency), cv2.COLOR_RGB2BGR)
            cv2.resize(part, (seen.width, seen.height), dst=seen.of(self._heat))
        else:
            seen, small = geometry.seen, _to_bytes(geometry.undo(saliency), 0.0, 1.0)
            levels = cv2.resize(small, (seen.width, seen.height), dst=self._room(seen.height, seen.width))
            pixels = as_bytes(cv2.LUT(levels, self._colours.view(np.int32)))
            cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR, dst=seen.of(self._heat))
        return self._heat

    def _levels_of(self, part: Array, height: int, width: int) -> Array:
        """The levels that the mixer takes, of the part of the map that lies on the frame."""
        # Convert to bytes before upsampling: there are only 256 colours anyway.
        if self._blend == "focus":
            small = _to_bytes(part, *self._contrast(part), CLEAR - self._mix.darkest)
            cv2.bitwise_not(small, dst=small)
        else:
            small = _to_bytes(part, 0.0, 1.0)
        rows = -(-height // 2) if height >= _PAIRED_FROM * part.shape[0] else height
        return np.asarray(cv2.resize(small, (width, rows), dst=self._room(rows, width)))

    def _fit(self, geometry: Geometry) -> None:
        """Allocate buffers for this geometry, black outside the network's crop."""
        if self._seen == (geometry.frame, geometry.seen):
            return
        self._seen = (geometry.frame, geometry.seen)
        self._heat = np.zeros((*geometry.frame, 3), np.uint8)
        self._picture = np.empty_like(self._heat)

    def _room(self, height: int, width: int) -> Array:
        if self._levels.shape != (height, width):
            self._levels = np.empty((height, width), np.uint8)
        return self._levels


def _to_bytes(part: Array, low: float, high: float, top: int = 255) -> Array:
    """Values from `low` to `high` as bytes from 0 to `top`; values outside as the nearer end, NaN as 0."""
    spread = high - low
    if not spread > _NARROWEST * max(1.0, abs(high)):
        # The products below would not fit into the integers that OpenCV rounds to.
        part, low, high = np.clip(part, low, high) - np.float32(low), 0.0, spread
    scale = top / spread if spread > 0 else 0.0
    levels = cv2.addWeighted(part, scale, part, 0, -low * scale, dtype=cv2.CV_8U)
    return np.asarray(cv2.min(levels, top, dst=levels) if top < 255 else levels)


def _check_map(saliency: Array) -> None:
    if not isinstance(saliency, np.ndarray):
        raise FastcamError(f"a map must be an array, not {type(saliency).__name__}")
    rgb = saliency.ndim == 3 and saliency.shape[2] == 3 and saliency.dtype == np.uint8
    if not (saliency.ndim == 2 or rgb) or saliency.size == 0:
        shape = "×".join(map(str, saliency.shape))
        raise FastcamError(f"a map must be H×W, or H×W×3 uint8, not {shape} {saliency.dtype}")


def overlay(
    frame: Image,
    saliency: Array,
    geometry: Geometry | None = None,
    *,
    colormap: str = colormaps.DEFAULT,
    alpha: float | None = None,
    blend: str = DEFAULT_BLEND,
) -> Image:
    """The frame with the map over it, as a new picture; `Overlay` does the same for many frames.

    Args:
        frame: uint8; H×W×3 BGR, gray or BGRA.
        saliency: A map of an `Explanation`.
        geometry: `explanation.geometry`; needed if the model was exported with `crop` or `letterbox`.
        colormap: A name of `colormaps.COLORMAPS`.
        alpha: The opacity of the map, 0…1; None means the default of the blend.
        blend: `focus` (the opacity follows the map), `colour` or `paper`; see `BLENDS`.

    Example:
        >>> import numpy as np
        >>> overlay(np.zeros((480, 640, 3), np.uint8), np.ones((224, 224), np.float32)).shape
        (480, 640, 3)
    """
    return Overlay(colormap, alpha, blend).draw(frame, saliency, geometry)


def to_bgr(frame: Image) -> Image:
    """A gray, BGR or BGRA frame as BGR (itself if it is one)."""
    frame = check_frame(frame)
    if frame.ndim == 2:
        frame = cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR)
    elif frame.shape[2] == 4:
        frame = cv2.cvtColor(frame, cv2.COLOR_BGRA2BGR)
    return frame


def to_gray(frame: Image) -> Image:
    """A gray, BGR or BGRA frame as H×W (itself if it is gray)."""
    frame = check_frame(frame)
    if frame.ndim == 3:
        frame = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY if frame.shape[2] == 3 else cv2.COLOR_BGRA2GRAY)
    return frame
