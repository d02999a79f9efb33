"""Pictures as image files: one, a numbered row of them, or a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import cv2

from ..errors import SinkError
from ..image import Image
from .atomic import prepare_folder, write_whole
from .base import Sink, SinkKind, Status

IMAGE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_FOLDER_SUFFIX = ".jpg"
_LONGEST = 200
"""Bytes of a name: a file system takes 255, and a number, a suffix and the mark of a part come to it."""
NUMBER = re.compile(r"%0?\d{0,2}d")
"""The place of the number in a pattern such as `frames/%04d.png`."""


def save_image(path: Path, picture: Image) -> None:
    """Write `picture` in the format of the path's suffix; the file appears whole or not at all.

    Raises:
        SinkError: the format cannot be written, or the disk is full.
    """
    write_whole(path, _encode(path, picture))


def _encode(path: Path, picture: Image) -> bytes:
    """The content of the image file that `path` names."""
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
    """One picture in one file, written at the end; a second picture is refused, and then none is written."""

    def __init__(self, path: Path) -> None:
        prepare_folder(path.parent, str(path))
        self._path = path
        self._content: bytes | None = None

    def write(self, picture: Image, status: Status) -> None:
        if self._content is not None:
            self._content = None
            numbered = self._path.with_name(f"{self._path.stem}-%04d{self._path.suffix}")
            raise SinkError(
                f"{self._path}: holds one picture, and the input has more; say {numbered} for all"
            )
        self._content = _encode(self._path, picture)

    def close(self) -> None:
        content, self._content = self._content, None
        if content is not None:
            write_whole(self._path, content)


class NumberedImages(Sink):
    """Every picture in a file of its own, counted from 0.

    Args:
        pattern: A path whose last part holds one number, as in `frames/%04d.png`.
    """

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
    """Every picture in a file of its own, under the name of its frame's file, or counted from 0.

    Args:
        folder: Made if it is not there.
        name: The folder as the user wrote it, for errors.
    """

    def __init__(self, folder: Path, name: str) -> None:
        prepare_folder(folder, name)
        self._folder = folder
        self._count = 0
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}
        """For every name that was wanted, the last number that it was given with."""

    def write(self, picture: Image, status: Status) -> None:
        name = self._free(Path(status.name).stem) if status.name else f"{self._count:06d}"
        save_image(self._folder / f"{name}{_FOLDER_SUFFIX}", picture)
        self._count += 1

    def _free(self, wanted: str) -> str:
        """`wanted`, with a number where an earlier picture has it: `cat`, `cat-1`, `cat-2`."""
        while len(os.fsencode(wanted)) > _LONGEST:
            wanted = wanted[:-1]
        # Without regard to case: some file systems do not tell Cat.jpg from cat.jpg.
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
    lambda uri, options: ImageFile(Path(uri).expanduser()),
    suffixes=IMAGE_SUFFIXES,
)
NUMBERED = SinkKind(
    {"frames/%04d.png": "every picture in a numbered file"},
    lambda uri, options: NumberedImages(str(Path(uri).expanduser())),
    matches=lambda uri: "://" not in uri and "%" in uri,
)
FOLDER = SinkKind(
    {"folder/": "every picture in a file, named after the photo that was read or numbered"},
    lambda uri, options: ImageFolder(Path(uri).expanduser(), uri),
    matches=lambda uri: "://" not in uri and (uri.endswith("/") or Path(uri).expanduser().is_dir()),
)
