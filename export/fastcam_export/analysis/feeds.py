"""Inputs for a trial run of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Fill = Callable[[Sequence[int], np.dtype[Any]], np.ndarray]

_NUMPY = {"float": "float32", "double": "float64", "string": "object"}
"""The types that onnxruntime and numpy call by different names."""


def make_feeds(inputs: Sequence[Any], image: str, shape: Sequence[int], fill: Fill) -> dict[str, np.ndarray]:
    """A value for every input of a session.

    Args:
        inputs: The result of `session.get_inputs()`.
        image: The name of the picture's input.
        shape: The picture's shape. Dimensions of other inputs with the name of one of the picture's get its
            size; every other free dimension is 1.
        fill: Makes an array of this shape and type.
    """
    declared = next((info.shape for info in inputs if info.name == image), ())
    named = {dim: size for dim, size in zip(declared, shape, strict=False) if isinstance(dim, str)}
    feeds = {}
    for info in inputs:
        own = [dim if isinstance(dim, int) and dim > 0 else named.get(dim, 1) for dim in info.shape]
        sizes = shape if info.name == image else own
        kind = info.type.removeprefix("tensor(").removesuffix(")")
        dtype = np.dtype(_NUMPY.get(kind, kind))
        feeds[info.name] = fill(sizes, dtype) if dtype != np.object_ else np.full(sizes, "", dtype)
    return feeds
