"""How onnxruntime may lay out activations on this processor."""

from __future__ import annotations

import functools

from ..native import find_function


@functools.cache
def block() -> int | None:
    """Channels that it keeps together, where the compiled library knows; None where it does not."""
    function = find_function("fastcam_block")
    return None if function is None else int(function()) or None
