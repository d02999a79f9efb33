"""Where the subjects of the built-in clip are: boxes drawn by hand on its photos, and the same in a frame."""

from __future__ import annotations

from typing import NamedTuple

from fastcam_runtime.sources.test_clip import PhotoCrop


class Box(NamedTuple):
    """Edges in pixels; right and bottom are exclusive."""

    left: float
    top: float
    right: float
    bottom: float


CAT_HEAD = Box(28, 0, 400, 292)
CAT_FACE = Box(108, 72, 346, 282)
"""From the outer corners of the eyes to the chin."""

CUP = Box(172, 17, 410, 309)
"""With its handle, without the saucer."""
CUP_AND_SAUCER = Box(76, 17, 481, 390)

SUBJECTS = {"chelsea.jpg": CAT_HEAD, "coffee.jpg": CUP_AND_SAUCER}
"""By the name of the photo, as `TestClip.crops(index)[0].photo` gives it."""


def in_frame(box: Box, crop: PhotoCrop, size: tuple[int, int]) -> Box:
    """A box of the photo in the coordinates of a clip's frame of `size` (width, height), clipped to it."""
    (across, down), (width, height) = crop.scale, size
    return Box(
        max(0.0, box.left * across - crop.left),
        max(0.0, box.top * down - crop.top),
        min(float(width), box.right * across - crop.left),
        min(float(height), box.bottom * down - crop.top),
    )
