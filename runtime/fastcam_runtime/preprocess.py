"""From a frame of any size to the network's input tensor, and the geometry that leads back."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .contract import ImageInput, Preprocess
from .errors import ModelError, SourceError

Array = npt.NDArray[Any]


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
    """How a frame was laid on the input: the pixels in `seen` went to the pixels in `placed`.

    `seen` is a rectangle of the frame and `placed` one of the input, so that a map at the input's size is
    brought back by cutting out `placed` and resizing it to `seen`.
    """

    frame: tuple[int, int]
    """Height and width of the frame."""
    input: tuple[int, int]
    """Height and width of the network's input."""
    seen: Rect
    placed: Rect

    @classmethod
    def lay(cls, frame: tuple[int, int], size: tuple[int, int], resize: str) -> Geometry:
        """Lay a frame on an input of `size` by `stretch`, `crop` (its centre) or `letterbox` (with bars)."""
        (h, w), (height, width) = frame, size
        seen, placed = Rect(0, 0, w, h), Rect(0, 0, width, height)
        if resize == "crop":
            seen = _centred(_fit((height, width), frame), frame)
        elif resize == "letterbox":
            placed = _centred(_fit(frame, size), size)
        return cls(frame, size, seen, placed)

    def undo(self, image: Array) -> Array:
        """The part of a map that shows the frame, at the map's own resolution (a view where sizes match)."""
        if image.shape[:2] != self.input:
            image = cv2.resize(image, self.input[::-1], interpolation=cv2.INTER_LINEAR)
        return self.placed.of(image)


def _fit(shape: tuple[int, int], room: tuple[int, int]) -> tuple[int, int]:
    """The largest height and width in the proportions of `shape` inside `room`."""
    (h, w), (height, width) = shape, room
    scale = min(height / h, width / w)
    return max(1, min(height, round(h * scale))), max(1, min(width, round(w * scale)))


def _centred(size: tuple[int, int], room: tuple[int, int]) -> Rect:
    return Rect((room[1] - size[1]) // 2, (room[0] - size[0]) // 2, size[1], size[0])


class Preprocessor:
    """Turns uint8 frames into input tensors, in buffers that are reused from frame to frame.

    The values are `(x − mean) / std`, looked up in a table of 256 entries per channel: exact, and one pass.
    Letterbox bars are 0, the value of the mean colour.

    Args:
        image: Name, layout and size of the input.
        preprocess: Channel order, mean and std.
        resize: `stretch`, `crop` or `letterbox`.
        dtype: Element type of the input: float32, float16, float64 or uint8.
        batch: First dimension of the tensor; the frame goes to item 0.
        tensors: How many tensors take turns, for a network that still reads one while the next is filled.
    """

    def __init__(
        self,
        image: ImageInput,
        preprocess: Preprocess,
        resize: str = "stretch",
        dtype: npt.DTypeLike = np.float32,
        batch: int = 1,
        tensors: int = 1,
    ) -> None:
        if image.channels != len(preprocess.mean):
            raise ModelError(f"the input has {image.channels} channels, its preprocessing {preprocess.order}")
        self._image = image
        self._order = preprocess.order
        self._resize = resize
        self._tables = _tables(preprocess, np.dtype(dtype))
        self._planar = image.layout != "NHWC"
        size = (image.height, image.width)
        shape = (image.channels, *size) if self._planar else (*size, image.channels)
        self._tensors: deque[Array] = deque(np.zeros((batch, *shape), dtype) for _ in range(tensors))
        self._prepare((*size, 3))

    def __call__(self, frame: Array) -> tuple[Array, Geometry]:
        """The input tensor and the geometry. The tensor is overwritten when its turn comes again."""
        frame = check_frame(frame)
        if frame.shape != self._shape:
            self._prepare(frame.shape)
        self._tensors.rotate(-1)
        tensor, geometry = self._tensors[0], self._geometry
        planes = _planes(self._shrink(geometry.seen.of(frame)), self._order)
        # cv2 knows no float16: the table's bits are copied as uint16.
        item = tensor[0].view(self._tables.dtype)
        if self._planar:
            for plane, table, target in zip(planes, self._tables, item, strict=True):
                cv2.LUT(plane, table, dst=geometry.placed.of(target))
        else:
            target = geometry.placed.of(item)
            for c, (plane, table) in enumerate(zip(planes, self._tables, strict=True)):
                target[..., c] = cv2.LUT(plane, table)
        return tensor, geometry

    def _prepare(self, shape: tuple[int, ...]) -> None:
        """Have the geometry and the buffers for frames of `shape`, kept until it changes."""
        self._geometry = Geometry.lay(
            (shape[0], shape[1]), (self._image.height, self._image.width), self._resize
        )
        seen, placed = self._geometry.seen, self._geometry.placed
        self._shrink = _Shrink((seen.height, seen.width, *shape[2:]), (placed.height, placed.width))
        self._shape = shape
        # New ones: the old ones hold pictures where bars may be now, and a network may still be reading them.
        self._tensors = deque(np.zeros_like(tensor) for tensor in self._tensors)


def check_frame(frame: Array) -> Array:
    """The frame as H×W or H×W×3 or H×W×4 uint8; anything else is refused."""
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8:
        kind = frame.dtype if isinstance(frame, np.ndarray) else type(frame).__name__
        raise SourceError(f"a frame must be a uint8 array, not {kind}")
    if frame.ndim == 3 and frame.shape[2] == 1:
        frame = frame[..., 0]
    if not (frame.ndim == 2 or (frame.ndim == 3 and frame.shape[2] in (3, 4))) or frame.size == 0:
        raise SourceError(
            f"a frame must be H×W, H×W×3 (BGR) or H×W×4 (BGRA), not {'×'.join(map(str, frame.shape))}"
        )
    return frame


def _tables(preprocess: Preprocess, dtype: np.dtype[Any]) -> Array:
    """Per channel, the value of the tensor for each of the 256 values of a pixel."""
    mean, std = np.array(preprocess.mean)[:, None], np.array(preprocess.std)[:, None]
    values = (np.arange(256.0) - mean) / std
    if dtype == np.uint8:
        values = np.clip(np.rint(values), 0, 255)
    table: Array = values.astype(dtype)
    return table.view(np.uint16) if dtype == np.float16 else table


class _Shrink:
    """Resizes pictures of one shape: each side halved by averaging while twice too large, then bilinear.

    The averaging keeps fine texture from aliasing, at a tenth of the time of one `INTER_AREA` to the end.
    An odd side is averaged with parts of pixels, which is slower.

    Args:
        shape: H×W or H×W×C of the pictures.
        size: Height and width to end with.
    """

    def __init__(self, shape: tuple[int, ...], size: tuple[int, int]) -> None:
        height, width = shape[:2]
        self._steps: list[tuple[Array, int]] = []
        while height >= 2 * size[0] or width >= 2 * size[1]:
            height = height // 2 if height >= 2 * size[0] else height
            width = width // 2 if width >= 2 * size[1] else width
            self._steps.append((np.empty((height, width, *shape[2:]), np.uint8), cv2.INTER_AREA))
        if (height, width) != size:
            self._steps.append((np.empty((*size, *shape[2:]), np.uint8), cv2.INTER_LINEAR))

    def __call__(self, image: Array) -> Array:
        """The resized picture, overwritten by the next call; the picture itself if it has the size."""
        for buffer, interpolation in self._steps:
            cv2.resize(image, buffer.shape[1::-1], dst=buffer, interpolation=interpolation)
            image = buffer
        return image


def _planes(image: Array, order: str) -> list[Array]:
    """The channels of a gray, BGR or BGRA picture, in the network's order."""
    if image.ndim == 2:
        return [image] * (1 if order == "GRAY" else 3)
    if order == "GRAY":
        return [cv2.cvtColor(image, cv2.COLOR_BGR2GRAY if image.shape[2] == 3 else cv2.COLOR_BGRA2GRAY)]
    blue, green, red = cv2.split(image)[:3]
    return [blue, green, red] if order == "BGR" else [red, green, blue]
