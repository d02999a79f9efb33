"""Draw a map over the frame it belongs to, at the frame's own size and geometry."""

from __future__ import annotations

import cv2
import numpy as np

from ..errors import FastcamError, closest
from ..image import Array, Geometry, Image, check_frame
from ..native import blending
from . import colormaps
from .contour import draw_outlines, outlines
from .contrast import Contrast

BLENDS = {"focus": 0.9, "colour": 0.5, "paper": 0.75}
"""Each blend, and its opacity. `focus`: the opacity follows the map, and the frame keeps its colours where
the map is low. `colour`: the same opacity everywhere. `paper`: over a gray frame, as in the paper's figures.
"""

DEFAULT_BLEND = "focus"

STEADY = 0.9
"""The share of the past in the contrast of a video: it follows a change of the scene within a second."""

_UNSEEN = 0.5
"""Brightness of what the network did not see, in the blend `focus`."""


class Overlay:
    """Draws maps over frames, in buffers that are reused while the frame size stays the same.

    What the network did not see (the resize `crop`) is darkened.

    Args:
        colormap: A name of `colormaps.COLORMAPS`.
        alpha: The opacity of the map, 0…1: its highest in the blend `focus`, everywhere in the others. None
            takes that of `BLENDS`.
        blend: A name of `BLENDS`.
        compiled: Use the compiled blend where it was built; the picture is the same.
        contour: Outline the brightest share of the map, 0…1; None for no outline.
        steady: The share of the past in the contrast of `focus`, 0 to below 1; for the frames of a video.

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
        self.restyle(colormap, BLENDS[blend] if alpha is None else alpha)
        self._compiled = compiled
        self._contrast = Contrast(steady)
        self._heat: Image = np.zeros((0, 0, 3), np.uint8)
        self._picture = self._heat
        self._seen: object = None

    def restyle(self, colormap: str, alpha: float) -> None:
        """Draw in other colours and with another opacity from now on."""
        table = colormaps.table(colormap)
        self.colormap = colormap
        self._alpha = alpha
        self._colours = _packed(table)
        self._keep, self._add = _weights(table, alpha, self._blend == "focus")

    def reset(self) -> None:
        """Forget the contrast of the maps so far: the next ones are about something else."""
        self._contrast.reset()

    def draw(self, frame: Image, saliency: Array, geometry: Geometry | None = None) -> Image:
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
        base = to_bgr(to_gray(frame) if self._blend == "paper" else frame)
        if np.may_share_memory(base, self._picture):
            base = base.copy()  # the caller passed the last picture as the frame
        if saliency.ndim == 3:
            heat = self.heat(saliency, geometry)
            cv2.addWeighted(base, 1 - self._alpha, heat, self._alpha, 0, dst=self._picture)
            return self._picture
        low, high = self._contrast(geometry.undo(saliency)) if self._blend == "focus" else (0.0, 1.0)
        levels = self._levels_of(saliency, geometry, low, high)
        if levels.shape != geometry.frame:
            unseen = _UNSEEN if self._blend == "focus" else 1 - self._alpha
            cv2.convertScaleAbs(base, alpha=unseen, dst=self._picture)
        self._mix(geometry.seen.of(base), levels, geometry)
        if self._contour is not None:
            draw_outlines(self._picture, outlines(saliency, self._contour, geometry))
        return self._picture

    def heat(self, saliency: Array, geometry: Geometry) -> Image:
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
            levels = self._levels_of(saliency, geometry, 0.0, 1.0)
            self._look_up(levels, self._colours, geometry.seen.of(self._heat))
        return self._heat

    def _mix(self, base: Image, levels: Array, geometry: Geometry) -> None:
        """((frame·keep + 255) >> 8) + add, by the weights of each level."""
        picture = geometry.seen.of(self._picture)
        blend_levels = blending.load() if self._compiled else None
        if blend_levels is not None:
            blend_levels(base, levels, self._keep, self._add, picture)
            return
        weights = self._look_up(levels, self._keep, geometry.seen.of(self._heat))
        products = cv2.multiply(base, weights, dtype=cv2.CV_16U)
        # x/256 + 255/512 is never halfway between integers, so that rounding it is (x + 255) >> 8.
        cv2.convertScaleAbs(products, alpha=1 / 256, beta=255 / 512, dst=picture)
        cv2.add(picture, self._look_up(levels, self._add, weights), dst=picture)

    def _levels_of(self, saliency: Array, geometry: Geometry, low: float, high: float) -> Array:
        """The map as bytes, where it lies on the frame: 0 up to `low`, 255 from `high` on."""
        part = geometry.undo(saliency)
        scale = 255 / (high - low) if high > low else 0.0
        # To bytes before enlarging: the values become one of 256 colours in any case.
        small = cv2.addWeighted(part, scale, part, 0, -low * scale, dtype=cv2.CV_8U)
        return np.asarray(cv2.resize(small, self._levels.shape[::-1], dst=self._levels))

    def _look_up(self, levels: Array, table: Array, target: Array) -> Array:
        """The three bytes of each level, in `target`."""
        packed = cv2.LUT(levels, table, dst=self._packed)
        pixels = packed.view(np.uint8).reshape(*packed.shape, 4)
        cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR, dst=target)
        return target

    def _fit(self, geometry: Geometry) -> None:
        """Allocate buffers for this geometry, black outside of what the network saw."""
        if self._seen == (geometry.frame, geometry.seen):
            return
        self._seen = (geometry.frame, geometry.seen)
        self._heat = np.zeros((*geometry.frame, 3), np.uint8)
        self._picture = np.empty_like(self._heat)
        self._levels: Array = np.empty((geometry.seen.height, geometry.seen.width), np.uint8)
        self._packed: Array = np.empty(self._levels.shape, np.int32)


def _weights(table: Array, alpha: float, follows: bool) -> tuple[Array, Array]:
    """For each level, how much of the frame is kept (of 255), and what is added to it."""
    opacity = alpha * (np.arange(256)[:, None] / 255 if follows else np.ones((256, 1)))
    keep = 255 - np.rint(255 * opacity)
    add = np.rint(table.reshape(256, 3) * (255 - keep) / 255)
    return _packed(np.repeat(keep, 3, axis=1)), _packed(add)


def _check_map(saliency: Array) -> None:
    if not isinstance(saliency, np.ndarray):
        raise FastcamError(f"a map must be an array, not {type(saliency).__name__}")
    rgb = saliency.ndim == 3 and saliency.shape[2] == 3 and saliency.dtype == np.uint8
    if not (saliency.ndim == 2 or rgb) or saliency.size == 0:
        shape = "×".join(map(str, saliency.shape))
        raise FastcamError(f"a map must be H×W, or H×W×3 uint8, not {shape} {saliency.dtype}")


def _packed(table: Array) -> Array:
    """256 times three bytes as one int32 each: a lookup takes half the time of three channels."""
    colours = np.zeros((256, 4), np.uint8)
    colours[:, :3] = table.reshape(256, 3)
    return colours.view(np.int32).reshape(256, 1)


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
        geometry: `explanation.geometry`; needed where the model was exported with `crop` or `letterbox`.
        colormap: A name of `colormaps.COLORMAPS`.
        alpha: The opacity of the map, 0…1; None takes that of the blend.
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
