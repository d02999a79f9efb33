"""A hash of a file's content, without reading the file again at every start."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path

from ..limits import read_whole
from ..model.file import sha256, summarize_file

_SETTLED = 2.0
"""Resolution of file times, in seconds; younger files are read again."""


def stamp(path: Path) -> str:
    """Size, times and inode of a file: every write changes them.

    Raises:
        OSError: There is no such file.
    """
    state = path.stat()
    return f"{state.st_size}-{state.st_mtime_ns}-{state.st_ctime_ns}-{state.st_ino}-{state.st_dev}"


def content_hash(path: Path, notes: Path) -> str:
    """The SHA-256 of a model with the files that have its weights.

    It is cached in a file of the folder `notes`, with the stamps of the files that were read; while these
    are the same, nothing is read again.

    Raises:
        ModelError: It is not an ONNX model.
        OSError: It cannot be read.
    """
    place = path.resolve()
    note = notes / f"{hashlib.sha256(os.fsencode(place)).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        known = json.loads(read_whole(note, pipes=False))
        if all(stamp(place.parent / name) == seen for name, seen in known["stamps"].items()):
            return str(known["sha256"])
    files = [place.name, *summarize_file(place).weights]
    stamps = {name: stamp(place.parent / name) for name in files}
    each = [sha256(place.parent / name) for name in files]
    found = each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()
    newest = max((place.parent / name).stat().st_ctime for name in files)
    if time.time() - newest > _SETTLED:
        _write(note, json.dumps({"stamps": stamps, "sha256": found}))
    return found


def _write(path: Path, text: str) -> None:
    """Write a note atomically; a missing note only means that the file is read again."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_text(text)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
