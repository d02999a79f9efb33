"""Files by a pattern such as `photos/**/*.jpg`."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

ANY_DEPTH = "**"


def matching(pattern: Path) -> list[Path]:
    """The files and folders that match a pattern, sorted; hidden names only if it starts with a dot too.

    As `glob.glob` with `recursive`, but `**` enters a folder once, even if several links lead to it. So a
    link to a parent folder does not recurse, and no picture is found twice.
    """
    start = Path(pattern.anchor)
    parts = pattern.parts[1:] if pattern.anchor else pattern.parts
    found = {start}
    for part in parts:
        if part == ANY_DEPTH:
            found = set(_folders_below(sorted(found)))
        else:
            found = {path for folder in found for path in _entries(folder, part)}
    if parts[-1:] == (ANY_DEPTH,):  # everything below, not the folders alone
        found |= {path for folder in found for path in _entries(folder, "*")}
    return sorted(found)


def _entries(folder: Path, part: str) -> Iterator[Path]:
    """The entries of a folder that match `part` of a pattern."""
    if not glob.has_magic(part):
        if os.path.lexists(folder / part):
            yield folder / part
        return
    matches = re.compile(fnmatch.translate(part)).match
    for entry in _scan(folder):
        if matches(entry.name) and (part.startswith(".") or not entry.name.startswith(".")):
            yield folder / entry.name


def _folders_below(starts: list[Path]) -> Iterator[Path]:
    """The folders themselves and all below them, each once; links are followed last, so that a path without a
    link is preferred."""
    entered: set[tuple[int, int]] = set()
    folders = list(starts)
    links: list[Path] = []
    while folders or links:
        folder = folders.pop() if folders else links.pop()
        try:
            status = folder.stat()
        except OSError:  # a broken or circular link
            continue
        if not stat.S_ISDIR(status.st_mode) or (status.st_dev, status.st_ino) in entered:
            continue
        entered.add((status.st_dev, status.st_ino))
        yield folder
        for entry in _scan(folder):
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                links.append(folder / entry.name)
            elif entry.is_dir():
                folders.append(folder / entry.name)


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:  # not a folder, or not readable
        return []
