"""Atomic writing of files: a file appears complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import SinkError


def prepare_folder(folder: Path, name: str) -> None:
    """Create `folder` if needed. Raise `SinkError`, with `name` in the message, if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SinkError(f"{name}: cannot create the folder {folder}: {error.strerror}") from error
    _check_writable(folder, name)


def check_folder(folder: Path, name: str) -> None:
    """Raise `SinkError`, with `name` in the message, if `folder` could not be created or is not writable.

    Nothing is created yet.
    """
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise SinkError(f"{name}: {folder} is not a folder")
    _check_writable(folder, name)


def _check_writable(folder: Path, name: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SinkError(f"{name}: no permission to write into {folder}")


def beside(path: Path) -> Path:
    """A temporary path in the same folder, with the same suffix, to write to before renaming it to `path`."""
    return path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")


def set_aside(part: Path) -> None:
    """Rename a part that an earlier process of the same number left behind, as in a container."""
    if not part.exists():
        return
    stem = part.name.removesuffix(f".{os.getpid()}.part{part.suffix}")
    number = 0
    while (aside := part.with_name(f"{stem}{f'-{number}' if number else ''}.0.part{part.suffix}")).exists():
        number += 1
    part.rename(aside)


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically.

    Raises:
        SinkError: The disk is full or not writable. An earlier file at `path` is kept.
    """
    part = beside(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SinkError(f"{path}: {error.strerror}") from error
