"""Inputs for a trial run of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contract import AS_IS, Metadata
from ..limits import check_elements, check_picture
from ..preprocess import Preprocessor

Fill = Callable[[Sequence[int], np.dtype[Any]], np.ndarray]

_NUMPY = {"float": "float32", "double": "float64", "string": "object"}
"""The types that onnxruntime and numpy call by different names."""

_COMPANIONS = ("orig_target_sizes", "im_shape", "scale_factor")


def companions(inputs: Sequence[Any], height: int, width: int, batch: int) -> dict[str, np.ndarray]:
    """Values for the inputs that only tell a detector how large the picture was.

    With the network's own size, its boxes are in pixels of its input. Known are `orig_target_sizes` (width
    and height: RT-DETR, D-FINE, DEIM); `im_shape` (height and width) and `scale_factor` of PaddleDetection.
    """
    values = {"orig_target_sizes": (width, height), "im_shape": (height, width), "scale_factor": (1, 1)}
    return {
        info.name: np.tile(np.array(values[info.name], _dtype(info)), (batch, 1))
        for info in inputs
        if is_companion(info.name, info.shape)
    }


def is_companion(name: str | None, shape: Sequence[Any]) -> bool:
    """Whether `companions` knows the values of an input."""
    return name in _COMPANIONS and len(shape) == 2 and shape[1] == 2


def _dtype(info: Any) -> np.dtype[Any]:
    kind = str(info.type).removeprefix("tensor(").removesuffix(")")
    return np.dtype(_NUMPY.get(kind, kind))


def make_feeds(inputs: Sequence[Any], image: str, shape: Sequence[int], fill: Fill) -> dict[str, np.ndarray]:
    """A value for every input of a session, made by `fill` of its shape and type, or by `companions`.

    A free dimension of an input other than `image` gets the size of the picture's dimension of the same name,
    else 1.

    Raises:
        ModelError: An input is too large.
    """
    declared = next((info.shape for info in inputs if info.name == image), ())
    named = {dim: size for dim, size in zip(declared, shape, strict=False) if isinstance(dim, str)}
    feeds = {}
    for info in inputs:
        own = [dim if isinstance(dim, int) and dim > 0 else named.get(dim, 1) for dim in info.shape]
        sizes = shape if info.name == image else own
        check_elements(f"the input '{info.name}'", sizes, math.prod(shape))
        dtype = _dtype(info)
        feeds[info.name] = fill(sizes, dtype) if dtype != np.object_ else np.full(sizes, "", dtype)
    height, width = shape[1:3] if len(shape) == 4 and shape[3] < shape[1] else shape[-2:]
    return feeds | companions(inputs, height, width, shape[0])


def random_feeds(inputs: Sequence[Any], metadata: Metadata) -> dict[str, np.ndarray]:
    """A random preprocessed picture, and random values for all other inputs.

    The seed is fixed, so that two files can be compared.

    Raises:
        ModelError: An input is too large.
    """
    random = np.random.default_rng(0)
    image = metadata.image
    declared = next((info.shape for info in inputs if info.name == image.name), ())
    batch = declared[0] if declared and isinstance(declared[0], int) and declared[0] > 0 else 1
    plane = (image.height, image.width)
    check_picture(f"the input '{image.name}'", batch, *plane, image.channels)
    tail = (image.channels, *plane) if image.layout == "NCHW" else (*plane, image.channels)

    def fill(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        if dtype.kind == "f":
            return random.standard_normal(shape).astype(dtype)
        return random.integers(0, 255 if dtype == np.uint8 else 2, shape).astype(dtype)

    feeds = make_feeds(inputs, image.name, (batch, *tail), fill)
    # A network may accept only the range that its preprocessing gives, such as 0…1.
    preprocess = Preprocessor(image, metadata.preprocess, dtype=feeds[image.name].dtype)
    channels = image.channels if metadata.preprocess.order == AS_IS else 3
    pictures = random.integers(0, 256, (batch, *plane, channels), np.uint8)
    feeds[image.name] = np.concatenate([preprocess(picture)[0] for picture in pictures])
    return feeds
