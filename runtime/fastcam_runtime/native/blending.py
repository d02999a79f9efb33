"""The compiled blend of a frame and the colours of a map's levels: one pass instead of five."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from ..image import Array, Image
from . import find_function

BlendLevels = Callable[[Image, Array, Array, Image], None]


@functools.cache
def load() -> BlendLevels | None:
    """The compiled function; None if the library is missing or does not have it."""
    function = find_function("fastcam_blend_table")
    if function is None:
        return None
    address, stride, count = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_size_t
    function.argtypes = [address, stride, address, count, address, address, stride, count, count]
    function.restype = None

    def blend_levels(frame: Image, levels: Array, table: Array, picture: Image) -> None:
        """Write `round(frame · keep / 255) + added` to `picture`, by the table's entry of each pixel's level.

        Args:
            frame: H×W×3 uint8.
            levels: h×W uint8 without gaps; each row serves as many rows of the frame, rounded up, as there
                are for one.
            table: For each of 256 levels the three bytes that are added, at most 255 − keep, and keep.
            picture: Like the frame, in other memory, with the pixels of each row side by side.

        Raises:
            ValueError: A shape, type or stride does not match.
        """
        share = -(-frame.shape[0] // max(1, levels.shape[0]))
        if not (
            frame.shape == picture.shape == (*frame.shape[:1], *levels.shape[1:], 3)
            and levels.shape[0] == -(-frame.shape[0] // max(1, share))
            and frame.dtype == levels.dtype == picture.dtype == np.uint8
            and levels.flags.c_contiguous
            and picture.strides[1:] == (3, 1)
            and table.nbytes == 4 * 256
        ):
            raise ValueError("frame, levels, table and picture of the blend do not match")
        if frame.strides[1:] != (3, 1):
            frame = np.ascontiguousarray(frame)
        function(
            frame.ctypes.data,
            frame.strides[0],
            levels.ctypes.data,
            share,
            table.ctypes.data,
            picture.ctypes.data,
            picture.strides[0],
            *frame.shape[:2],
        )

    return blend_levels
