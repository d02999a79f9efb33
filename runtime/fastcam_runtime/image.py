"""Pictures, rectangles in them, and the geometry between a frame and the network's input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .errors import SourceError

Array = npt.NDArray[Any]
"""Maps and tensors of any element type."""

Image = npt.NDArray[np.uint8]
"""A picture as in OpenCV: height × width × 3, blue-green-red, 0…255."""


@dataclass(frozen=True)
class Rect:
    """A rectangle in pixels: left, top, width, height."""

    x: int
    y: int
    width: int
    height: int

    def of(self, image: Array) -> Array:
        """The part of `image` (H×W or H×W×C) inside the rectangle, as a view."""
        return image[self.y : self.y + self.height, self.x : self.x + self.width]


@dataclass(frozen=True)
class Geometry:
    """How a frame was placed in the input: the pixels in `seen` were resized to the pixels in `placed`.

    `seen` is a rectangle of the frame and `placed` one of the input. To transfer a map at the input's size to
    the frame, crop `placed` and resize it to `seen`.
    """

    frame: tuple[int, int]
    """Height and width of the frame."""
    input: tuple[int, int]
    """Height and width of the network's input."""
    seen: Rect
    placed: Rect

    @classmethod
    def lay(
        cls, frame: tuple[int, int], size: tuple[int, int], resize: str, placement: str = "centre"
    ) -> Geometry:
        """Place a frame in an input of `size` by `stretch`, `crop` (its centre) or `letterbox` (with bars).

        A letterboxed frame is in the `centre`, or in the upper left `corner`.
        """
        (h, w), (height, width) = frame, size
        seen, placed = Rect(0, 0, w, h), Rect(0, 0, width, height)
        if resize == "crop":
            seen = _centred(_fit((height, width), frame), frame)
        elif resize == "letterbox":
            placed = _centred(_fit(frame, size), size)
            if placement == "corner":
                placed = Rect(0, 0, placed.width, placed.height)
        return cls(frame, size, seen, placed)

    def undo(self, image: Array) -> Array:
        """The part of a map that shows the frame, at the map's own resolution (a view if the sizes match)."""
        if image.shape[:2] != self.input:
            image = cv2.resize(image, self.input[::-1], interpolation=cv2.INTER_LINEAR)
        return self.placed.of(image)

    def to_frame(self, boxes: Array) -> Array:
        """Boxes [M,4] (left, top, right, bottom) from pixels of the input to the frame's, clipped to it."""
        scale = np.array([self.seen.width / self.placed.width, self.seen.height / self.placed.height] * 2)
        placed = np.array([self.placed.x, self.placed.y] * 2)
        moved = (boxes - placed) * scale + np.array([self.seen.x, self.seen.y] * 2)
        limits = np.array([self.frame[1], self.frame[0]] * 2)
        cut: Array = np.clip(moved, 0, limits)
        return cut

    def to_input(self, boxes: Array) -> Array:
        """Boxes [M,4] from pixels of the frame to the input's, clipped to where the frame is placed."""
        back = Geometry(self.input, self.frame, self.placed, self.seen)
        return back.to_frame(boxes)


def _fit(shape: tuple[int, int], room: tuple[int, int]) -> tuple[int, int]:
    """The largest height and width inside `room` with the aspect ratio of `shape`."""
    (h, w), (height, width) = shape, room
    scale = min(height / h, width / w)
    return max(1, min(height, round(h * scale))), max(1, min(width, round(w * scale)))


def _centred(size: tuple[int, int], room: tuple[int, int]) -> Rect:
    return Rect((room[1] - size[1]) // 2, (room[0] - size[0]) // 2, size[1], size[0])


def check_frame(frame: Image, channels: int | None = None) -> Image:
    """The frame as H×W or H×W×3 or H×W×4 uint8; anything else is refused.

    For a network whose channels are not colours, `channels` is their number C: only H×W×C, or H×W for 1.
    """
    if frame is None:  # cv2.imread returns this for a missing file
        raise SourceError("no picture: was the path right?")
    if isinstance(frame, list | tuple) or (isinstance(frame, np.ndarray) and frame.ndim == 4):
        raise SourceError(f"one frame is needed, not {len(frame)}: Explainer.batch takes several")
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8:
        kind = frame.dtype if isinstance(frame, np.ndarray) else type(frame).__name__
        raise SourceError(f"a frame must be a uint8 array, not {kind}")
    if frame.ndim == 3 and frame.shape[2] == 1:
        frame = frame[..., 0]
    if channels is not None:
        if (
            (frame.shape[2] if frame.ndim == 3 else 1) != channels
            or frame.ndim not in (2, 3)
            or not frame.size
        ):
            raise SourceError(
                f"the network takes arrays H×W×{channels}, whose channels are no colours, not a frame of "
                f"{'×'.join(map(str, frame.shape))}: give them to Explainer in Python"
            )
        return frame
    if not (frame.ndim == 2 or (frame.ndim == 3 and frame.shape[2] in (3, 4))) or frame.size == 0:
        raise SourceError(
            f"a frame must be H×W, H×W×3 (BGR) or H×W×4 (BGRA), not {'×'.join(map(str, frame.shape))}"
        )
    return frame
