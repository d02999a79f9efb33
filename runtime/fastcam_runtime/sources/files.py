"""Videos and images on disk."""

from __future__ import annotations

import errno
import glob
import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from ..errors import SourceError, closest
from ..image import Image
from ..limits import MAX_PHOTO_BYTES, PHOTO_VARIABLES
from ..uri_kinds import local_path
from .base import Source, SourceKind, SourceOptions
from .ordered import OrderedSource
from .patterns import matching
from .quiet import decoding

logger = logging.getLogger(__name__)

PHOTO_SUFFIXES = frozenset(
    {".bmp", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"}
)

_MOST_FAILED_READS = 32
"""Consecutive frames that may fail to decode before the rest of a video is skipped."""


def open_files(name: str, options: SourceOptions) -> Source:
    """Open a video, an image, a folder of images, or the images that match a pattern.

    Raises:
        SourceError: There is no such file, or nothing that can be read.
    """
    path = local_path(name)
    if path.is_dir():
        shown = (file for file in path.iterdir() if not file.name.startswith("."))
        return ImageFiles(name, _images(shown, f"{name}: a folder without images"), options)
    if path.is_file():
        if path.suffix.lower() in PHOTO_SUFFIXES:
            return ImageFiles(name, [path], options)
        return VideoFrames(str(path), partial(_open_video, path), options)
    if glob.has_magic(name):
        return ImageFiles(name, _images(matching(path), f"{name}: the pattern matches no image"), options)
    if path.exists():
        raise SourceError(f"{name}: neither a file nor a folder")
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    raise SourceError(f"{name}: no such file{closest(path.name, [other.name for other in beside])}")


FILES = SourceKind(
    {
        "clip.mp4": "a video",
        "photo.jpg": "one image",
        "folder/": "all images in a folder, sorted by name",
        "'glob*.jpg'": "the images that match a pattern, sorted by name",
    },
    open_files,
    matches=lambda uri: "://" not in uri,
)


def _images(paths: Iterable[Path], complaint: str) -> list[Path]:
    """The images among `paths`, sorted; raises `SourceError` with `complaint` if there are none."""
    found = sorted(path for path in paths if path.suffix.lower() in PHOTO_SUFFIXES and path.is_file())
    if not found:
        raise SourceError(f"{complaint} ({', '.join(sorted(PHOTO_SUFFIXES))})")
    return found


class ImageFiles(OrderedSource):
    """Images, one frame each, rotated by their EXIF orientation; unreadable ones are skipped."""

    def __init__(self, name: str, paths: list[Path], options: SourceOptions) -> None:
        super().__init__(name, options)
        self.stills = options.fps is None
        self._paths = paths
        self._position = 0

    def _next(self) -> Image | None:
        while self._position < len(self._paths):
            path = self._paths[self._position]
            self._position += 1
            try:
                image = _decode(path, self._options.alpha)
                reason = "not a readable image"
            except OSError as error:
                image, reason = None, str(error.strerror)
            if image is not None:
                self._picture = str(path)
                return image
            self.skipped += 1
            logger.warning("%s: %s; skipped", path, reason)
        return None

    def _rewind(self) -> None:
        self._position = 0


def _decode(path: Path, alpha: bool) -> Image | None:
    """The image in a file, with its opacity if requested and present; None if it cannot be decoded.

    Raises:
        OSError: The file cannot be read, is too large, or has more pixels than OpenCV's limit.
    """
    # Not cv2.imread: it fails for some paths on some systems, and prints its errors.
    if path.stat().st_size > MAX_PHOTO_BYTES:
        raise OSError(errno.EFBIG, f"more than {MAX_PHOTO_BYTES} bytes")
    content = np.fromfile(path, np.uint8)
    try:
        with decoding():
            if alpha and content.size:
                whole = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
                if whole is not None and whole.ndim == 3 and whole.shape[2] == 4 and whole.dtype == np.uint8:
                    return np.asarray(whole)
            return cv2.imdecode(content, cv2.IMREAD_COLOR) if content.size else None
    except cv2.error as error:
        variable = next((name for name in PHOTO_VARIABLES if name.removeprefix("OPENCV") in str(error)), None)
        if variable is None:
            return None
        what = "" if variable.endswith("PIXELS") else "a side of "
        reason = f"{what}more than {os.environ.get(variable, 'OpenCV allows')} pixels, see {variable}"
        raise OSError(errno.EFBIG, reason) from error


def _is_text(path: Path) -> bool:
    """Whether a file is plain text, which FFmpeg would render as a video. Playlists are text but allowed;
    a dark raw video can look like text."""
    with path.open("rb") as file:
        head = file.read(1024)
    if head.startswith(b"YUV4MPEG2 "):
        return False
    return b"\0" not in head and head.isascii() and path.suffix.lower() not in (".m3u8", ".sdp")


class VideoFrames(OrderedSource):
    """A video with an end; frames that cannot be decoded are skipped. `connect` opens it at the beginning."""

    def __init__(self, name: str, connect: Callable[[], cv2.VideoCapture], options: SourceOptions) -> None:
        self._connect = connect
        self._capture = connect()
        rate = self._capture.get(cv2.CAP_PROP_FPS)
        super().__init__(name, options, fps=rate if 0 < rate <= 1000 else None)
        self._declared = int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT))
        self._delivered = self._passed_over = 0

    def _next(self) -> Image | None:
        for failed in range(_MOST_FAILED_READS):
            image: Image | None = self._capture.read()[1]
            if image is not None:
                self._delivered += 1
                if failed:
                    self.skipped += failed
                    self._passed_over += failed
                    logger.warning("%s: %d unreadable frame(s) skipped", self.name, failed)
                return image
            if self._delivered + failed >= self._declared:
                break
        # A container without an index declares an estimate, which may be off by one.
        missing = self._declared - self._delivered
        if missing > 1 + self._passed_over:
            self.skipped += missing - self._passed_over
            logger.warning("%s: %d of %d frames could be read", self.name, self._delivered, self._declared)
        return None

    def _rewind(self) -> None:
        # Reopened, because not every container can seek.
        self._capture.release()
        self._capture = self._connect()
        self._delivered = self._passed_over = 0

    def _release(self) -> None:
        self._capture.release()


def _open_video(path: Path) -> cv2.VideoCapture:
    if not path.stat().st_size:
        raise SourceError(f"{path}: the file is empty")
    if _is_text(path):
        raise SourceError(f"{path}: not a video but a text file")
    # Absolute, because FFmpeg reads `12:30.mp4` as a URL of the protocol `12`.
    capture = cv2.VideoCapture(str(path.absolute()))
    if not capture.isOpened():
        raise SourceError(f"{path}: not a video that OpenCV can read")
    return capture
