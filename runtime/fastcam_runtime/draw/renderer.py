"""From an explained frame to a picture: smooth its maps over time, paint them, add caption and legend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import FastcamError, closest
from ..explanation import Explanation
from ..image import Array, Image
from . import views
from .caption import PLACES, answer, darken, row_height, write_row
from .legend import write_legend
from .lettering import Lettering
from .overlay import Overlay
from .smoothing import Smoother

_Row = Callable[[Image, Lettering], None]


@dataclass(frozen=True)
class RenderOptions:
    """How pictures are drawn, apart from their colours.

    Args:
        smooth: Weight of earlier maps, 0 to below 1.
        caption: Where label and figures go: a name of `caption.PLACES`.
        legend: Draw a colour bar. LOVI always has one with its caption: its colours need an explanation.
        stills: The frames are unrelated photos: each gets its own contrast.
    """

    smooth: float = 0.0
    caption: str = "below"
    legend: bool = False
    stills: bool = False

    def __post_init__(self) -> None:
        Smoother(self.smooth)  # raises if it is out of range
        if self.caption not in PLACES:
            raise FastcamError(
                f"no place {self.caption!r} for the caption; one of {', '.join(PLACES)}"
                f"{closest(self.caption, PLACES)}"
            )


class Renderer:
    """Draws one frame after the other. Maps that are reused for a later frame are not smoothed again."""

    def __init__(self, overlay: Overlay, options: RenderOptions) -> None:
        self._overlay = overlay
        self._options = options
        self._painter = views.Painter(overlay)
        self._smooth = Smoother(options.smooth)
        self._maps: Mapping[str, Array] = {}
        self._smoothed: Mapping[str, Array] = {}
        self._shown: tuple[str, str | None, int | None] | None = None
        self._canvas: Image = np.zeros((0, 0, 3), np.uint8)

    def restyle(self, colormap: str, alpha: float) -> None:
        """Change the colours and the opacity."""
        self._overlay.restyle(colormap, alpha)

    def draw(
        self, frame: Image, explanation: Explanation, view: str, class_choice: str | None, fps: float | None
    ) -> Image:
        """The picture of a frame, H×W×3 uint8 BGR. A new view or class resets the smoothing.

        Returns:
            BGR uint8, overwritten by the next call. A caption below the frame adds to its height.
        """
        chosen = None if explanation.chosen is None else explanation.chosen.index
        if (view, class_choice, chosen) != self._shown or self._options.stills:
            self._shown = (view, class_choice, chosen)
            self._smooth.reset()
            self._overlay.reset()
        if explanation.maps is not self._maps:
            self._maps = explanation.maps
            self._smoothed = self._smooth(explanation.maps)
        picture = self._painter.paint(
            view, frame, self._smoothed, explanation.geometry, explanation.detections, explanation.chosen
        )
        rows = self._rows(explanation, view, fps)
        # A caption inside would cover a part of the grid of scales.
        inside = self._options.caption == "inside" and view != "scales"
        return self._with_rows(picture, rows, inside) if rows else picture

    def _rows(self, explanation: Explanation, view: str, fps: float | None) -> list[_Row]:
        """The rows of text below the picture, from top to bottom."""
        rows: list[_Row] = []
        captioned = self._options.caption != "none"
        if self._options.legend or (captioned and view == "lovi"):
            rows.append(
                lambda row, letters: write_legend(
                    row, letters, lovi=view == "lovi", colormap=self._overlay.colormap
                )
            )
        if captioned:
            # A photo without a rate is mostly the first run of a network: its time would mislead.
            figures = "" if self._options.stills and fps is None else _speed(explanation, fps)
            text = _said(explanation)
            rows.append(lambda row, letters: write_row(row, letters, text, figures))
        return rows

    def _with_rows(self, picture: Image, rows: list[_Row], inside: bool) -> Image:
        height, width = picture.shape[:2]
        letters, each = Lettering.for_picture(height, width), row_height(height, width)
        if inside:
            top = max(0, height - each * len(rows))
            canvas = picture
            darken(canvas[top:])
        else:
            top = height
            shape = (height + each * len(rows), width, 3)
            if self._canvas.shape != shape:
                self._canvas = np.zeros(shape, np.uint8)
            canvas = self._canvas
            canvas[:height] = picture
            canvas[height:] = 0
        for number, write in enumerate(rows):
            write(canvas[top + number * each : top + (number + 1) * each], letters)
        return canvas


def _speed(explanation: Explanation, fps: float | None) -> str:
    """The frame rate, if there is one, and the time of the network."""
    milliseconds = explanation.timings["preprocess"] + explanation.timings["inference"]
    return ("" if fps is None else f"{fps:.1f} fps  ") + f"{milliseconds:.1f} ms"


def _said(explanation: Explanation) -> str:
    """The explained class, and the most likely one if it is another."""
    text = answer(explanation.label, explanation.score)
    best = None if explanation.detections else next(iter(explanation.top(1)), None)
    return (
        text
        if best is None or best.index == explanation.index
        else f"{text}, best {best.label} {best.score:.0%}"
    )
