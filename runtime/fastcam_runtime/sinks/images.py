"""Image files: a single one, a numbered sequence, or a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import cv2

from ..errors import SinkError
from ..image import Image
from ..uri_kinds import local_path
from .atomic import prepare_folder, write_whole
from .base import Sink, SinkKind, Status

IMAGE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_FOLDER_SUFFIX = ".jpg"
_LONGEST = 200
"""Longest name in bytes. File systems allow 255, and a number, the suffix and a temporary mark are added."""
NUMBER = re.compile(r"%0?\d{0,2}d")
"""The number in a pattern such as `frames/%04d.png`."""


def save_image(path: Path, picture: Image) -> None:
    """Write `picture` atomically, in the format of the path's suffix.

    Raises:
        SinkError: OpenCV cannot write the format, or the disk is full.
    """
    write_whole(path, _encode(path, picture))


def _encode(path: Path, picture: Image) -> bytes:
    """The picture encoded in the format of the path's suffix."""
    try:
        encodable, content = cv2.imencode(path.suffix, picture)
    except cv2.error:
        encodable = False
    if not encodable:
        raise SinkError(
            f"{path}: OpenCV cannot write a {path.suffix} of {picture.shape[1]}x{picture.shape[0]}"
        )
    return bytes(content.tobytes())


class ImageFile(Sink):
    """A single picture, written by `close`. A second picture raises `SinkError`, and no file is written."""

    def __init__(self, path: Path) -> None:
        prepare_folder(path.parent, str(path))
        self._path = path
        self._content: bytes | None = None

    def write(self, picture: Image, status: Status) -> None:
        if self._content is not None:
            self._content = None
            numbered = self._path.with_name(f"{self._path.stem}-%04d{self._path.suffix}")
            raise SinkError(
                f"{self._path}: holds one picture, but the input has more; use {numbered} for all of them"
            )
        self._content = _encode(self._path, picture)

    def close(self) -> None:
        content, self._content = self._content, None
        if content is not None:
            write_whole(self._path, content)


class NumberedImages(Sink):
    """One file per picture, numbered from 0; `pattern` has one number, as in `frames/%04d.png`."""

    def __init__(self, pattern: str) -> None:
        path = Path(pattern)
        if len(NUMBER.findall(path.name)) != 1 or path.name.count("%") != 1 or "%" in str(path.parent):
            raise SinkError(
                f"{pattern}: needs exactly one number, of 99 digits at most, in the file's name, "
                "as in frames/%04d.png"
            )
        if path.suffix.lower() not in IMAGE_SUFFIXES:
            raise SinkError(f"{pattern}: {path.suffix!r} is not one of {', '.join(IMAGE_SUFFIXES)}")
        prepare_folder(path.parent, pattern)
        self._path = path
        self._count = 0

    def write(self, picture: Image, status: Status) -> None:
        save_image(self._path.with_name(self._path.name % self._count), picture)
        self._count += 1


class ImageFolder(Sink):
    """One file per picture, named after the file of its frame, or numbered from 0.

    The folder is created if needed; errors call it `name`, as the user wrote it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        prepare_folder(folder, name)
        self._folder = folder
        self._count = 0
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}
        """For each base name, the last number that was appended to it."""

    def write(self, picture: Image, status: Status) -> None:
        name = self._free(Path(status.name).stem) if status.name else f"{self._count:06d}"
        save_image(self._folder / f"{name}{_FOLDER_SUFFIX}", picture)
        self._count += 1

    def _free(self, wanted: str) -> str:
        """`wanted`, with a number appended if an earlier picture has that name: `cat`, `cat-1`, `cat-2`."""
        while len(os.fsencode(wanted)) > _LONGEST:
            wanted = wanted[:-1]
        # Case-insensitive, as some file systems are: Cat.jpg and cat.jpg would be one file.
        key = wanted.casefold()
        name, number = wanted, self._numbers.get(key, 0)
        while name.casefold() in self._used:
            number += 1
            name = f"{wanted}-{number}"
        self._numbers[key] = number
        self._used.add(name.casefold())
        return name


IMAGE = SinkKind(
    {"out.png": "one picture"},
    lambda uri, options: ImageFile(local_path(uri)),
    suffixes=IMAGE_SUFFIXES,
)
NUMBERED = SinkKind(
    {"frames/%04d.png": "every picture in a numbered file"},
    lambda uri, options: NumberedImages(str(local_path(uri))),
    matches=lambda uri: "://" not in uri and "%" in uri,
)
FOLDER = SinkKind(
    {"folder/": "every picture in a file, named after the photo that was read or numbered"},
    lambda uri, options: ImageFolder(local_path(uri), uri),
    matches=lambda uri: "://" not in uri and (uri.endswith("/") or local_path(uri).is_dir()),
)
