"""The files that a command writes: atomically, and never over its inputs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import SinkError
from ..sinks.atomic import check_folder, prepare_folder, write_whole
from ..sinks.images import NUMBER
from ..sources.files import PHOTO_SUFFIXES
from ..sources.patterns import matching
from ..uri_kinds import local_path


def refuse_overwriting(inputs: Iterable[str | Path], outputs: Iterable[str | Path]) -> None:
    """Refuse outputs that would overwrite an input: a file, a folder, an image in it, or an image's folder.

    Raises:
        SinkError: An output would replace an input or lie among the inputs, or it is named twice.
    """
    read = [path for text in inputs for path in _places(str(text))]
    seen = set()
    for output in outputs:
        uri = "://" in str(output)
        path = local_path(output)
        place = str(output) if uri else os.path.realpath(path)
        if place in seen:
            raise SinkError(f"{output}: named twice as an output")
        seen.add(place)
        if not uri and _replaces(path, read):
            what = "holds inputs" if path.is_dir() else "is an input"
            raise SinkError(f"{output}: {what} of this run; name another output")


def _replaces(output: Path, read: Iterable[Path]) -> bool:
    """Whether `output`, or a name that a pattern such as `frames/%04d.png` can produce, is in `read`."""
    if output.exists():
        status = output.stat()
        return any(os.path.samestat(status, other.stat()) for other in read)
    before, *after = NUMBER.split(output.name)
    if len(after) != 1 or not output.parent.exists():
        return False
    named = re.compile(rf"{re.escape(before)}\d+{re.escape(after[0])}")
    return any(named.fullmatch(other.name) and output.parent.samefile(other.parent) for other in read)


def _places(text: str) -> list[Path]:
    """The existing files and folders that an input names."""
    if "://" in text:
        return []
    path = local_path(text)
    if path.is_dir():
        images = [file for file in path.iterdir() if file.suffix.lower() in PHOTO_SUFFIXES]
        return [path, *_with_folders(images)]
    if path.exists():
        return _with_folders([path]) if path.suffix.lower() in PHOTO_SUFFIXES else [path]
    return _with_folders(matching(path))


def _with_folders(images: Iterable[Path]) -> list[Path]:
    """The images that exist and their folders, with symbolic links resolved.

    A folder sink keeps the names of the images, so it would overwrite them in their own folder.
    """
    found = [image for image in images if image.exists()]
    behind = {image.resolve().parent for image in found if image.is_symlink()}
    return [*found, *({image.parent for image in found} | behind)]


def check_json_path(path: Path) -> None:
    """Refuse a path that a report cannot be written to, before the work starts.

    Raises:
        SinkError: The folder cannot be made or written to, or `path` is a folder or a file of another kind.
    """
    check_folder(path.parent, str(path))
    if path.is_dir():
        raise SinkError(f"{path}: is a folder, not a file")
    if path.exists() and path.suffix.lower() != ".json":
        raise SinkError(f"{path} exists and is not a .json file; name another file for the figures")


def check_report_path(path: Path) -> None:
    """Refuse a path that a page cannot be written to, before the work starts.

    Raises:
        SinkError: It ends neither in `.md` nor in `.json`, is a folder, or its folder cannot be written to.
    """
    check_folder(path.parent, str(path))
    if path.suffix.lower() not in (".md", ".json") or path.is_dir():
        raise SinkError(f"{path}: a report is a .md or a .json file")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a report atomically; its folder is created if it is missing."""
    prepare_folder(path.parent, str(path))
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, text.encode(errors="replace"))  # a file's name may not be UTF-8
