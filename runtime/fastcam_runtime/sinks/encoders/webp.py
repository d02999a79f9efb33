"""Animated WebP: each picture is a separate WebP, in one container.

The container is written here, picture by picture, so that memory stays bounded and no library is needed:
https://developers.google.com/speed/webp/docs/riff_container
"""

from __future__ import annotations

import struct
from pathlib import Path

import cv2

from ...errors import SinkError
from ...image import Image
from .base import Encoder

_QUALITY = 80
LONGEST_SIDE = 16383
"""Largest width or height of the format."""
_HEAD = 12
"""Bytes of `RIFF`, the size and `WEBP`; chunks follow."""
_ANIMATED = 0x02


class WebpAnimation(Encoder):
    """A WebP file: an animation that repeats, or a lossless picture if there is only one."""

    codec = "WebP"

    def __init__(self, path: Path, fps: float, size: tuple[int, int]) -> None:
        self._path = path
        self._fps = fps
        self._size = size
        self._count = 0
        self._first: Image | None = None
        self._file = path.open("wb")

    def write(self, picture: Image) -> None:
        if self._count == 0:
            self._first = picture.copy()
        else:
            content = self._frame(picture, self._count)
            if self._first is not None:
                content = self._head() + self._frame(self._first, 0) + content
                self._first = None
            try:
                self._file.write(content)
            except OSError as error:
                raise SinkError(str(error.strerror)) from error
        self._count += 1

    def close(self) -> bool:
        with self._file:
            if self._first is not None:
                encoded, still = cv2.imencode(".webp", self._first)
                self._file.write(still.tobytes() if encoded else b"")
            length = self._file.tell()
            if self._count > 1:
                self._file.seek(4)
                self._file.write(struct.pack("<I", length - 8))
        return length > _HEAD and self._path.exists() and self._path.stat().st_size == length

    def _head(self) -> bytes:
        """What comes before the frames; the size of the file is filled in at the end."""
        width, height = self._size
        extended = bytes([_ANIMATED, 0, 0, 0]) + _uint24(width - 1) + _uint24(height - 1)
        background_and_loops = struct.pack("<IH", 0, 0)  # 0 loops: for ever
        return b"RIFF\0\0\0\0WEBP" + _chunk(b"VP8X", extended) + _chunk(b"ANIM", background_and_loops)

    def _frame(self, picture: Image, number: int) -> bytes:
        encoded, content = cv2.imencode(".webp", picture, [cv2.IMWRITE_WEBP_QUALITY, _QUALITY])
        if not encoded:
            raise SinkError(f"OpenCV cannot write a .webp of {picture.shape[1]}x{picture.shape[0]}")
        # From the start of this frame to the start of the next: rounding errors do not accumulate.
        duration = round(1e3 * (number + 1) / self._fps) - round(1e3 * number / self._fps)
        place = _uint24(0) * 2 + _uint24(self._size[0] - 1) + _uint24(self._size[1] - 1)
        return _chunk(b"ANMF", place + _uint24(duration) + b"\0" + content.tobytes()[_HEAD:])


def repair(part: Path, target: Path) -> bool:
    """Write the whole frames of an animation whose writer was killed; returns whether there is any."""
    content = part.read_bytes()
    if content[:4] != b"RIFF" or content[8:_HEAD] != b"WEBP":
        return False
    end, frames = _HEAD, 0
    while end + 8 <= len(content):
        length = struct.unpack("<I", content[end + 4 : end + 8])[0]
        following = end + 8 + length + length % 2
        if following > len(content):
            break
        frames += content[end : end + 4] == b"ANMF"
        end = following
    if frames:
        target.write_bytes(b"RIFF" + struct.pack("<I", end - 8) + content[8:end])
    return frames > 0


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _uint24(value: int) -> bytes:
    return struct.pack("<I", value)[:3]
