"""Recording to a video file, or an animation, that is playable even after an error."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import cv2

from ..errors import SinkError
from ..image import Image
from ..uri_kinds import local_path
from .atomic import beside, prepare_folder, set_aside
from .base import Sink, SinkKind, Status
from .encoders import FORMATS, Encoder, open_encoder, prepare_encoder

_RESERVE = 8 * 2**20
_RESERVE_PER_FRAME = 64
"""Bytes of disk kept free to finish the file: its index, and frames still in memory."""
_LONGEST_GAP = 2.0
"""The longest gap in seconds that is filled by repeating a picture."""
_FASTEST_REAL_TIME = 60.0
"""Highest frame rate of a recording in real time. Some cameras declare 1000 fps, and every missing frame
would be a repeated picture."""


def free_space(folder: Path) -> int:
    """Free bytes on the disk of `folder`."""
    return shutil.disk_usage(folder).free


def prepare_recording(suffix: str, fps: float, *, real_time: bool) -> None:
    """Let a later `VideoFile` with these options begin without delay."""
    prepare_encoder(suffix, _written_rate(fps, real_time))


def _written_rate(fps: float, real_time: bool) -> float:
    if real_time:
        fps = min(fps, _FASTEST_REAL_TIME)
    # MPEG-4 allows at most 65535 ticks per second, which limits the number of decimals.
    return round(fps, 2) if fps > 60 else round(fps, 3)


class VideoFile(Sink):
    """A video file. It appears at `path` when it is closed, complete and playable, or not at all.

    Its size is that of the first picture, rounded up to even numbers as codecs require; later pictures of
    another size are scaled to fit. Encoders do not report failed writes reliably, so the recording ends while
    there is space left to finish it. `encoders.formats` chooses the codec, and logs it.

    Args:
        path: Its suffix chooses the container.
        fps: The frame rate of the video; at most 60 in real time.
        real_time: Repeat or drop pictures so that the video plays in real time. Otherwise every picture is
            written once.
        free: Returns the free bytes of a folder.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        path: Path,
        fps: float,
        *,
        real_time: bool = False,
        free: Callable[[Path], int] = free_space,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        prepare_folder(path.parent, str(path))
        self._path = path
        self._part = beside(path)
        self._fps = _written_rate(fps, real_time)
        prepare_encoder(path.suffix, self._fps)
        self._real_time = real_time
        self._free = free
        self._clock = clock
        self._started = 0.0
        self._encoder: Encoder | None = None
        self._size = (0, 0)
        self._count = 0

    def write(self, picture: Image, status: Status) -> None:
        if self._free(self._path.parent) < _RESERVE + _RESERVE_PER_FRAME * self._count:
            raise SinkError(
                f"{self._path}: the disk is nearly full; recording ends after {self._count} pictures"
            )
        if self._encoder is None:
            height, width = picture.shape[:2]
            step = 2 if FORMATS[self._path.suffix.lower()].even else 1
            self._size = (width + width % step, height + height % step)
            set_aside(self._part)
            self._encoder = open_encoder(self._path, self._part, self._fps, self._size)
            self._started = self._clock()
        picture = fit(picture, self._size)
        for _ in range(self._due() if self._real_time else 1):
            try:
                self._encoder.write(picture)
            except SinkError as error:
                raise SinkError(f"{self._path}: {error}; {self._count} pictures were recorded") from error
            self._count += 1

    def close(self) -> None:
        if self._encoder is None:
            return
        encoder, self._encoder = self._encoder, None
        if not encoder.close():
            self._part.unlink(missing_ok=True)
            raise SinkError(f"{self._path}: the recording could not be finished (is the disk full?)")
        try:
            self._part.replace(self._path)
        except OSError as error:
            raise SinkError(f"{self._path}: {error.strerror}; the recording is in {self._part}") from error

    def _due(self) -> int:
        """How many times to write the picture to keep real time. Long gaps are cut out, not filled."""
        missing = int((self._clock() - self._started) * self._fps) + 1 - self._count
        if missing > max(1.0, self._fps * _LONGEST_GAP):
            self._started += (missing - 1) / self._fps
            missing = 1
        return max(0, missing)


VIDEO = SinkKind(
    {
        "out.mp4": "a video; also .webm, .mov, .mkv and .avi",
        "out.webp": "an animation, or one picture; also .gif",
    },
    lambda uri, options: VideoFile(local_path(uri), options.fps, real_time=options.real_time),
    suffixes=tuple(FORMATS),
)


def fit(picture: Image, size: tuple[int, int]) -> Image:
    """The picture at `size` (width, height): unchanged, padded by one pixel, or scaled with bars."""
    height, width = picture.shape[:2]
    if (width, height) == size:
        return picture
    right, below = size[0] - width, size[1] - height
    if {right, below} <= {0, 1}:
        doubled: Image = cv2.copyMakeBorder(picture, 0, below, 0, right, cv2.BORDER_REPLICATE)
        return doubled
    scale = min(size[0] / width, size[1] / height)
    width, height = max(1, round(width * scale)), max(1, round(height * scale))
    picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    left, above = (size[0] - width) // 2, (size[1] - height) // 2
    barred: Image = cv2.copyMakeBorder(
        picture, above, size[1] - height - above, left, size[0] - width - left, cv2.BORDER_CONSTANT
    )
    return barred
