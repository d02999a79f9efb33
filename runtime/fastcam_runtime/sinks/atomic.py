"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import SinkError


def prepare_folder(folder: Path, name: str) -> None:
    """Make `folder` if it is not there; refuse, naming the sink `name`, if nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SinkError(f"{name}: cannot make the folder {folder}: {error.strerror}") from error
    _check_writable(folder, name)


def check_folder(folder: Path, name: str) -> None:
    """Refuse a folder that could not be made or written into, naming the sink `name`; nothing is made yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise SinkError(f"{name}: {folder} is no folder")
    _check_writable(folder, name)


def _check_writable(folder: Path, name: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SinkError(f"{name}: no permission to write into {folder}")


def beside(path: Path) -> Path:
    """A name in the same folder, with the same suffix, for the time that `path` is being written."""
    return path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` under `path` in one step.

    Raises:
        SinkError: the disk is full or not writable; what was there before is still there.
    """
    part = beside(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SinkError(f"{path}: {error.strerror}") from error
