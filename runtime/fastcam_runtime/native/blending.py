"""The compiled blend of a frame and the colours of a map's levels: one pass instead of six."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from ..image import Array, Image
from . import find_function

BlendLevels = Callable[[Image, Array, Array, Array, Image], None]


@functools.cache
def load() -> BlendLevels | None:
    """The compiled function; None if the library is missing or does not have it."""
    function = find_function("fastcam_blend_levels")
    if function is None:
        return None
    address, stride, count = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_size_t
    function.argtypes = [address, stride, address, address, address, address, stride, count, count]
    function.restype = None

    def blend_levels(frame: Image, levels: Array, keep: Array, add: Array, picture: Image) -> None:
        """Write `((frame · keep + 255) >> 8) + add` to `picture`, by the weights of each pixel's level.

        Args:
            frame: H×W×3 uint8.
            levels: H×W uint8 without gaps.
            keep: For each of 256 levels three weights and a 0 in the bytes of an int32.
            add: The same of what is added: at most 255 − keep.
            picture: Like the frame, in other memory, with the pixels of each row side by side.

        Raises:
            ValueError: Their shapes, types or strides are different.
        """
        if not (
            frame.shape == picture.shape == (*levels.shape, 3)
            and frame.dtype == levels.dtype == picture.dtype == np.uint8
            and levels.flags.c_contiguous
            and picture.strides[1:] == (3, 1)
            and keep.nbytes == add.nbytes == 4 * 256
        ):
            raise ValueError("frame, levels, weights and picture of the blend do not go together")
        if frame.strides[1:] != (3, 1):
            frame = np.ascontiguousarray(frame)
        function(
            frame.ctypes.data,
            frame.strides[0],
            levels.ctypes.data,
            keep.ctypes.data,
            add.ctypes.data,
            picture.ctypes.data,
            picture.strides[0],
            *levels.shape,
        )

    return blend_levels
