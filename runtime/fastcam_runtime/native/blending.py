"""The compiled blend: half of the frame and half of the map's colours, in one pass instead of four."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import find_function

Array = npt.NDArray[Any]
BlendHalves = Callable[[Array, Array, Array, Array], None]


@functools.cache
def load() -> BlendHalves | None:
    """The compiled function; None if the library is missing or does not have it."""
    function = find_function("fastcam_blend_halves")
    if function is None:
        return None
    address, stride, count = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_size_t
    function.argtypes = [address, stride, address, address, address, stride, count, count]
    function.restype = None

    def blend_halves(frame: Array, levels: Array, colours: Array, picture: Array) -> None:
        """Write half of `frame`, rounded down, plus the colour of each level to `picture`.

        Args:
            frame: H×W×3 uint8.
            levels: H×W uint8 without gaps.
            colours: For each of 256 levels a BGR colour in the bytes of an int32, none of them above 128.
            picture: Like the frame, in other memory, with the pixels of each row side by side.

        Raises:
            ValueError: Their shapes, types or strides are different.
        """
        if not (
            frame.shape == picture.shape == (*levels.shape, 3)
            and frame.dtype == levels.dtype == picture.dtype == np.uint8
            and levels.flags.c_contiguous
            and picture.strides[1:] == (3, 1)
            and colours.nbytes == 4 * 256
        ):
            raise ValueError("frame, levels, colours and picture of the blend do not go together")
        if frame.strides[1:] != (3, 1):
            frame = np.ascontiguousarray(frame)
        function(
            frame.ctypes.data,
            frame.strides[0],
            levels.ctypes.data,
            colours.ctypes.data,
            picture.ctypes.data,
            picture.strides[0],
            *levels.shape,
        )

    return blend_halves
