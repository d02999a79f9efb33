"""An explained frame becomes a picture: its maps smoothed over time, painted, and captioned."""

from __future__ import annotations

from collections.abc import Mapping

from ..explanation import Explanation
from ..image import Array
from . import views
from .caption import answer, write_bar
from .overlay import Overlay
from .smoothing import Smoother


class Drawing:
    """Draws one frame after the other; maps that come again with a later frame are not smoothed again.

    Args:
        overlay: Colours and blend.
        smooth: Share of the past in the maps, 0 to below 1.
        caption: Write the label and the figures into the picture.
        stills: Photos, which have nothing in common: each gets a contrast of its own.
    """

    def __init__(self, overlay: Overlay, *, smooth: float, caption: bool, stills: bool = False) -> None:
        self._overlay = overlay
        self._stills = stills
        self._painter = views.Painter(overlay, caption=caption)
        self._smooth = Smoother(smooth)
        self._caption = caption
        self._maps: Mapping[str, Array] = {}
        self._smoothed: Mapping[str, Array] = {}
        self._shown: tuple[str, str | None] | None = None

    def draw(
        self, frame: Array, explanation: Explanation, view: str, class_choice: str | None, fps: float | None
    ) -> Array:
        """The picture of a frame.

        Args:
            frame: H×W×3 uint8 BGR.
            explanation: What the model said about it.
            view: Which of `views.VIEWS`; the past of another view, or of another class, is forgotten.
            class_choice: The class that the maps are of, if one was chosen.
            fps: For the caption; None where there is nothing to tell.
        """
        if (view, class_choice) != self._shown:
            self._shown = (view, class_choice)
            self._smooth.reset()
            self._overlay.reset()
        if self._stills:
            self._overlay.reset()
        if explanation.maps is not self._maps:
            self._maps = explanation.maps
            self._smoothed = self._smooth(explanation.maps)
        picture = self._painter.paint(view, frame, self._smoothed, explanation.geometry)
        if self._caption:
            milliseconds = explanation.timings["preprocess"] + explanation.timings["inference"]
            figures = ("" if fps is None else f"{fps:.1f} fps  ") + f"{milliseconds:.1f} ms"
            write_bar(picture, answer(explanation.label, explanation.score), figures)
        return picture
