"""Limits on what a file may ask for, checked before any work is done.

A file may come from anybody. Each limit is far above what a real network needs, and low enough that a hostile
file ends with one line instead of filling the memory or never ending.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .errors import ModelError

MAX_SIDE = 1 << 15
"""Height or width of an input: OpenCV resizes pictures of up to 32,767 pixels a side."""
MAX_PIXELS = 1 << 24
"""Pixels of all pictures of a batch, 4096×4096: as float32 RGB they are 200 MB, and there are copies."""
MAX_ELEMENTS = 1 << 28
"""Elements of one tensor inside a network: 1 GB as float32."""
MAX_DIMENSION = 1 << 31
"""A dimension of a tap or a weight: kernels count elements with 32 bits."""
MAX_NODES = 100_000
"""Nodes of a graph with its functions expanded: ten times the largest image classifier. Functions that call
functions grow exponentially."""
MAX_DEPTH = 32
"""Graphs inside graphs, and functions that call functions: exporters nest two or three."""
MAX_TAPS = 1_000
"""Scales: a network has about five."""
MAX_LABELS = 100_000
"""Classes: ImageNet-21k has 21,841."""
MAX_LABEL = 1_000
"""Characters of a label: ImageNet's longest has 121. Each frame's caption measures the text."""
MAX_NAME = 4_096
"""Characters of a tensor's name: the limit of a path, which names are often made from."""
MAX_METADATA = 64 << 20
"""Bytes of the metadata: 100,000 labels of an ordinary length are 3 MB."""


def check_picture(what: str, batch: int, height: int, width: int) -> None:
    """Refuse an input whose pictures are larger than any camera's.

    Args:
        what: How the message calls the input.
        batch: Pictures in one run.
        height: Height of one picture.
        width: Width of one picture.

    Raises:
        ModelError: A side or the number of pixels is above its limit.
    """
    if max(height, width) > MAX_SIDE:
        raise ModelError(f"{what} is {height}×{width}: a side has at most {MAX_SIDE} pixels")
    if batch * height * width > MAX_PIXELS:
        each = f"{batch} pictures of {height}×{width}" if batch > 1 else f"{height}×{width}"
        raise ModelError(f"{what} is {each}: {MAX_PIXELS} pixels are the limit")


def check_elements(what: str, shape: Sequence[int]) -> None:
    """Refuse a tensor that is too large to compute.

    Raises:
        ModelError: It has more than `MAX_ELEMENTS` elements.
    """
    if math.prod(shape) > MAX_ELEMENTS:
        raise ModelError(f"{what} is {'×'.join(map(str, shape))}: {MAX_ELEMENTS} elements are the limit")
