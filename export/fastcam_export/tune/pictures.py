"""The user's pictures, on which maps are compared."""

from __future__ import annotations

import cv2
import numpy as np
from fastcam_runtime.image import Image
from fastcam_runtime.sources import open_source

DEFAULT = "test://?frames=16"
MOST = 32
"""Pictures kept. More of them change the averages by less than the pictures differ."""
MOST_READ = 1000
"""Frames read of a long video, or of a camera that never ends."""
LARGEST_SIDE = 640
"""Pictures are kept no larger than this, so that a folder of photos fits into a small device's memory."""


def read_pictures(uri: str, most: int = MOST) -> list[Image]:
    """At most `most` pictures, evenly spread over a folder, a pattern, a video or any other source.

    Raises:
        SourceError: There are none.
    """
    pictures: list[Image] = []
    stride = 1
    with open_source(uri) as source:
        for number in range(MOST_READ):
            frame = source.read()
            if frame is None:
                break
            if number % stride:
                continue
            pictures.append(_shrink(frame.image))
            if len(pictures) == 2 * most:
                pictures, stride = pictures[::2], 2 * stride
    # Between one and two times as many are left: evenly spread again.
    count = min(most, len(pictures))
    return [pictures[i * len(pictures) // count] for i in range(count)]


def _shrink(image: Image) -> Image:
    scale = LARGEST_SIDE / max(image.shape[:2])
    if scale >= 1:
        return image
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
