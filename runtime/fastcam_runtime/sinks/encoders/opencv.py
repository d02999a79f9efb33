"""Recording with OpenCV's video writer."""

from __future__ import annotations

from pathlib import Path

import cv2

from ...image import Image
from .base import Encoder

_NAMES = {
    "avc1": "H.264",
    "VP80": "VP8",
    "mp4v": "MPEG-4 Part 2",
    "XVID": "MPEG-4 Part 2",
    "MJPG": "Motion JPEG",
}
"""The codecs by the code that OpenCV knows them by."""


class OpenCVWriter(Encoder):
    """A file that OpenCV writes. OpenCV does not report failed writes."""

    def __init__(self, writer: cv2.VideoWriter, codec: str, path: Path) -> None:
        self.codec = f"{_NAMES[codec]} (OpenCV)"
        self._writer = writer
        self._path = path

    def write(self, picture: Image) -> None:
        self._writer.write(picture)

    def close(self) -> bool:
        self._writer.release()
        return plays(self._path)


def open_writer(codecs: tuple[str, ...], path: Path, fps: float, size: tuple[int, int]) -> Encoder | None:
    """The first codec that the installed OpenCV can write; None if it has none of them."""
    target = str(path.absolute())  # FFmpeg reads `12:30.mp4` as a URL of the protocol `12`
    for codec in codecs:
        writer = cv2.VideoWriter(target, cv2.VideoWriter.fourcc(*codec), fps, size)
        if writer.isOpened():
            return OpenCVWriter(writer, codec, path)
    return None


def plays(path: Path) -> bool:
    """Whether OpenCV can read the first frame of `path`."""
    capture = cv2.VideoCapture(str(path.absolute()))
    try:
        return bool(capture.isOpened() and capture.grab())
    finally:
        capture.release()
