"""From a frame of any size to the network's input tensor, with the geometry to map it back."""

from __future__ import annotations

from collections import deque
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .contract import AS_IS, ImageInput, Preprocess
from .errors import ModelError
from .image import Array, Geometry, Image, check_frame

IMAGE_TYPES: dict[str, npt.DTypeLike] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
"""The element types that an image input may have: onnxruntime's name and NumPy's."""


class Preprocessor:
    """Turns uint8 frames into input tensors, in buffers that are reused.

    The values are `(x − mean) / std`, looked up in a table of 256 entries per channel: exact, in one pass.
    Letterbox bars are 0, the value of the mean colour, unless the preprocessing has a grey level for them.

    Args:
        image: Name, layout and size of the input.
        preprocess: Channel order, mean and std.
        resize: `stretch`, `crop` or `letterbox`.
        dtype: Element type of the input, one of `IMAGE_TYPES`.
        batch: First dimension of the tensor; the frame goes to item 0.
        tensors: The number of buffers, used in turn: the network reads one while the next is filled.
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
        self._placement = preprocess.placement
        self._pad = preprocess.pad
        self._planar = image.layout != "NHWC"
        size = (image.height, image.width)
        shape = (image.channels, *size) if self._planar else (*size, image.channels)
        self._tensors: deque[Array] = deque(np.zeros((batch, *shape), dtype) for _ in range(tensors))
        self._own = image.channels if preprocess.order == AS_IS else None
        self._prepare((*size, self._own or 3))

    def __call__(self, frame: Image) -> tuple[Array, Geometry]:
        """The input tensor and the geometry. The tensor is overwritten `tensors` calls later."""
        frame = check_frame(frame, self._own)
        if frame.shape != self._shape:
            self._prepare(frame.shape)
        self._tensors.rotate(-1)
        tensor, geometry = self._tensors[0], self._geometry
        planes = _planes(self._shrink(geometry.seen.of(frame)), self._order)
        # cv2.LUT does not support float16: the bits are copied as uint16.
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
        """Compute the geometry and allocate the buffers for frames of `shape`."""
        self._geometry = Geometry.lay(
            (shape[0], shape[1]), (self._image.height, self._image.width), self._resize, self._placement
        )
        seen, placed = self._geometry.seen, self._geometry.placed
        self._shrink = _Shrink((seen.height, seen.width, *shape[2:]), (placed.height, placed.width))
        self._shape = shape
        # New buffers: old ones hold pixels where bars may be now, and the network may still read them.
        self._tensors = deque(map(self._bars, self._tensors))

    def _bars(self, tensor: Array) -> Array:
        """A new tensor like this one, filled with the value of the bars."""
        empty = np.zeros_like(tensor)
        if self._pad is not None:
            colour = self._tables[:, self._pad].view(tensor.dtype)
            empty[:] = colour[:, None, None] if self._planar else colour
        return empty


def _tables(preprocess: Preprocess, dtype: np.dtype[Any]) -> Array:
    """Per channel, the value of the tensor for each of the 256 values of a pixel."""
    mean, std = np.array(preprocess.mean)[:, None], np.array(preprocess.std)[:, None]
    values = (np.arange(256.0) - mean) / std
    if dtype == np.uint8:
        values = np.clip(np.rint(values), 0, 255)
    table: Array = values.astype(dtype)
    return table.view(np.uint16) if dtype == np.float16 else table


class _Shrink:
    """Resizes pictures of one shape: halves sides by averaging while at least twice too large, then bilinear.

    The averaging avoids aliasing of fine texture, in a tenth of the time of a single `INTER_AREA`. An odd
    side is averaged with fractions of pixels, which is slower.
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
    """The channels of a gray, BGR or BGRA picture, in the network's order. Without alpha, all is opaque."""
    if order == AS_IS:
        return list(cv2.split(image))
    if order.endswith("A"):
        with_alpha = image.ndim == 3 and image.shape[2] == 4
        alpha = cv2.extractChannel(image, 3) if with_alpha else np.full(image.shape[:2], 255, np.uint8)
        return [*_planes(image, order[:-1]), alpha]
    if image.ndim == 2:
        return [image] * (1 if order == "GRAY" else 3)
    if order == "GRAY":
        return [cv2.cvtColor(image, cv2.COLOR_BGR2GRAY if image.shape[2] == 3 else cv2.COLOR_BGRA2GRAY)]
    blue, green, red = cv2.split(image)[:3]
    return [blue, green, red] if order == "BGR" else [red, green, blue]
