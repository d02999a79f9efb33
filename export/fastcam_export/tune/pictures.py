"""The user's pictures, on which maps are compared."""

from __future__ import annotations

import cv2
import numpy as np
from fastcam_runtime.image import Image
from fastcam_runtime.sources import open_source

MOST = 32
"""The most pictures that are kept. More would hardly change the averages."""
MOST_READ = 1000
"""The most frames that are read from a long video or a camera."""
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
    # Up to twice as many are left: take evenly spread ones.
    count = min(most, len(pictures))
    return [pictures[i * len(pictures) // count] for i in range(count)]


def _shrink(image: Image) -> Image:
    scale = LARGEST_SIDE / max(image.shape[:2])
    if scale >= 1:
        return image
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
