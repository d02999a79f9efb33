"""Videos read back."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np


def frames_of(path: Path) -> list[np.ndarray]:
    """Every frame that can be decoded."""
    video = cv2.VideoCapture(str(path))
    return [frame for readable, frame in iter(video.read, (False, None)) if readable]


def rate_of(path: Path) -> float:
    """The frames per second that the video declares."""
    return float(cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FPS))
