"""The pictures of an evaluation: the files of a folder or of a pattern."""

from __future__ import annotations

import contextlib
import glob
import logging
from collections.abc import Iterator
from pathlib import Path

from fastcam_runtime.errors import SourceError, closest
from fastcam_runtime.image import Image
from fastcam_runtime.sources import files
from fastcam_runtime.sources.files import PHOTO_SUFFIXES
from fastcam_runtime.sources.patterns import matching
from fastcam_runtime.sources.registry import open_source
from fastcam_runtime.uri_kinds import local_path

from .objects import MASK_ENDINGS


def list_pictures(given: str, *, masks: bool = False) -> list[Path]:
    """The pictures of a folder, of a pattern such as 'photos/*.jpg' or of one file name, sorted by name.

    If there may be `masks` among them, files that are named as such are left out.

    Raises:
        SourceError: There is none.
    """
    path = local_path(given)
    if path.is_dir():
        found = list(path.iterdir())
    elif path.is_file():
        found = [path]
    elif glob.has_magic(given):
        found = matching(path)
    else:
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise SourceError(f"{given}: no such folder of pictures{closest(path.name, beside)}")
    pictures = sorted(
        file
        for file in found
        if file.suffix.lower() in PHOTO_SUFFIXES
        and not file.name.startswith(".")
        and not (masks and file.name.endswith(MASK_ENDINGS[0]))
        and file.is_file()
    )
    if not pictures:
        raise SourceError(f"{given}: no picture there ({', '.join(sorted(PHOTO_SUFFIXES))})")
    return pictures


def read_picture(path: Path, *, tell: bool = False) -> Image | None:
    """The picture, upright; None if the file holds none, which is logged if `tell`."""
    try:
        with contextlib.nullcontext() if tell else _silent(), open_source(str(path)) as source:
            frame = source.read()
    except SourceError:
        return None
    return None if frame is None else frame.image


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Log no unreadable picture in this block: the caller has a note of its own."""

    def drop(_: logging.LogRecord) -> bool:
        return False

    files.logger.addFilter(drop)
    try:
        yield
    finally:
        files.logger.removeFilter(drop)
