"""The views: which outputs of the file each view shows, and how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from .. import contract
from ..detect.detections import Detection
from ..errors import FastcamError, closest
from ..image import Array, Geometry, Image, Rect
from ..model.grafted import Model
from .boxes import draw_boxes, show_inside
from .caption import write_corner
from .overlay import Overlay, to_bgr

_MAPS = ("saliency_map", "fastcam", "cam", "nonclass")
_CLASS_MAPS = ("fastcam", "cam", "nonclass", "saliency_map")

VIEWS: Mapping[str, Sequence[str]] = {
    "overlay": _MAPS,
    "map": _MAPS,
    "lovi": ("lovi",),
    "cam": ("cam",),
    "fastcam": ("fastcam",),
    "nonclass": ("nonclass",),
    "scales": ("scales",),
    "side": _MAPS,
    "boxes": _MAPS,
}
"""Each view, and the outputs that it can show: the first one that the file has."""


_SMALLEST_TILE = 160
"""Least width of a tile of the view `scales`: the grid of a small frame is larger than the frame."""


def available_views(model: Model) -> tuple[str, ...]:
    """The views that this file can show."""
    return tuple(
        view
        for view, words in VIEWS.items()
        if set(words) & set(model.words) and (view != "boxes" or model.metadata.detector is not None)
    )


def output_of(view: str, model: Model, *, of_class: bool = False) -> str:
    """The output (a name of `contract.OUTPUTS`) that a view shows.

    If a class was chosen, `overlay`, `map` and `side` prefer class maps.

    Raises:
        FastcamError: There is no such view, or the file cannot show it; the message lists those it can.
    """
    if view not in VIEWS:
        raise FastcamError(f"no view {view!r}; one of {', '.join(VIEWS)}{closest(view, VIEWS)}")
    if view == "boxes" and model.metadata.detector is None:
        raise FastcamError(f"the view 'boxes' needs a detector; {model.path} has no known detector's head")
    words = _CLASS_MAPS if of_class and VIEWS[view] is _MAPS else VIEWS[view]
    for word in words:
        if word in model.words:
            return word
    views = ", ".join(available_views(model)) or "none"
    raise FastcamError(
        f"the view {view!r} cannot be shown (possible: {views}): {model.lacks(words[0], words[0])}"
    )


def frame_point(
    view: str, picture: tuple[int, int], frame: tuple[int, int], x: float, y: float
) -> tuple[float, float] | None:
    """The point of the frame under a point of its picture; None beside it, as on a caption.

    Sizes are width and height.
    """
    if view == "scales" or not (0 <= x < picture[0] and 0 <= y < min(picture[1], frame[1])):
        return None
    return x % frame[0], y  # `side` shows the frame twice


class Painter:
    """Draws any view. Every picture is overwritten by the next one."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._lovi = Overlay(blend="paper")  # LOVI's own colours would mix with those of the frame
        self._canvas: Image = np.zeros((0, 0, 3), np.uint8)

    def paint(
        self,
        view: str,
        frame: Image,
        maps: Mapping[str, Array],
        geometry: Geometry,
        detections: Sequence[Detection] = (),
        chosen: Detection | None = None,
    ) -> Image:
        """The picture of a view; without `maps`, which are those of `output_of`, the plain frame.

        The boxes of `detections` are drawn over the frame and over the map; `chosen` is the one that the maps
        explain.

        Returns:
            BGR uint8 at the frame's size; `side` is twice as wide, `scales` a grid that is about as wide,
            or wider if the frame is small.
        """
        shown = detections if chosen is None else (chosen,)
        picture = self._paint(view, to_bgr(frame), maps, geometry, shown)
        if detections and view != "scales":
            draw_boxes(picture, detections, left=picture.shape[1] - frame.shape[1], chosen=chosen)
        return picture

    def _paint(
        self,
        view: str,
        frame: Image,
        maps: Mapping[str, Array],
        geometry: Geometry,
        detections: Sequence[Detection],
    ) -> Array:
        if not maps:
            canvas = self._room(*frame.shape[:2])
            canvas[:] = frame
            return canvas
        if view == "scales":
            return self._scales(frame, maps, geometry)
        saliency = next(iter(maps.values()))
        if view == "map":
            canvas = self._room(*frame.shape[:2])
            canvas[:] = self._overlay.heat(saliency, geometry)
            return canvas
        if view == "side":
            canvas = self._room(frame.shape[0], 2 * frame.shape[1])
            canvas[:, : frame.shape[1]] = frame
            canvas[:, frame.shape[1] :] = self._overlay.draw(frame, saliency, geometry)
            return canvas
        drawer = self._lovi if view == "lovi" else self._overlay
        picture = drawer.draw(frame, saliency, geometry)
        return show_inside(picture, frame, detections) if view == "boxes" else picture

    def _scales(self, frame: Image, maps: Mapping[str, Array], geometry: Geometry) -> Image:
        """The frame and the map of each scale, as a grid read from the top left, shallow to deep."""
        columns = math.ceil(math.sqrt(len(maps) + 1))
        rows = math.ceil((len(maps) + 1) / columns)
        width = max(_SMALLEST_TILE, frame.shape[1] // columns)
        height = max(1, round(frame.shape[0] * width / frame.shape[1]))
        size = (rows * height, columns * width)
        canvas = self._room(*size)
        canvas.fill(0)  # the last cells may be empty, and captions were drawn into the previous picture
        small = _scaled(geometry, (height, width))
        for i, (name, saliency) in enumerate([("", frame), *maps.items()]):
            tile = Rect(i % columns * width, i // columns * height, width, height).of(canvas)
            if i == 0:
                cv2.resize(frame, (width, height), dst=tile, interpolation=cv2.INTER_AREA)
                continue
            tile[:] = self._overlay.heat(saliency, small)
            scale = name.removeprefix(contract.SCALE_PREFIX)
            write_corner(tile, f"{scale}: {saliency.shape[1]}×{saliency.shape[0]}")
        return canvas

    def _room(self, height: int, width: int) -> Image:
        if self._canvas.shape[:2] != (height, width):
            self._canvas = np.zeros((height, width, 3), np.uint8)
        return self._canvas


def _scaled(geometry: Geometry, frame: tuple[int, int]) -> Geometry:
    """The same geometry for a frame that was resized to `frame` (height, width)."""
    y, x = frame[0] / geometry.frame[0], frame[1] / geometry.frame[1]
    seen = geometry.seen
    left, top = round(seen.x * x), round(seen.y * y)
    width = max(1, min(frame[1] - left, round(seen.width * x)))
    height = max(1, min(frame[0] - top, round(seen.height * y)))
    return Geometry(frame, geometry.input, Rect(left, top, width, height), geometry.placed)
