"""How onnxruntime may lay out activations on this processor."""

from __future__ import annotations

import ctypes
import functools

from . import library_path


@functools.cache
def block() -> int | None:
    """Channels that it keeps together, where the compiled library knows; None where it does not."""
    path = library_path()
    if path is None:
        return None
    try:
        return int(ctypes.CDLL(str(path)).fastcam_block()) or None
    except (OSError, AttributeError):  # for another machine, or from an older version
        return None
