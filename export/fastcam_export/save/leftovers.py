"""Remove the leftovers of killed exports: their hidden folders, and weights without a model.

A draft's folder has a lock, which the system releases when the process ends, even if it is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is removed there
    fcntl = None  # type: ignore[assignment]

PREFIX = ".fastcam-"
_LOCK, _JOURNAL = "lock", "journal.json"


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Mark a draft's folder as in use."""
    with (folder / _LOCK).open("wb") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def announce(folder: Path, target: str, data: list[str]) -> None:
    """Record the weights of the earlier and of the new model, before anything is published."""
    journal = folder / _JOURNAL
    journal.write_text(json.dumps({"target": target, "data": data}))
    sync(journal)


def remove_leftovers(parent: Path, weights_of: Callable[[Path], set[str]]) -> None:
    """Remove the folders of drafts whose process is gone, and weights that they published without a model.

    `weights_of` returns the names of the weights that a model refers to.
    """
    if fcntl is None:
        return
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the process lives
            for name, target in _announced(folder):
                if name.startswith(f"{target}.data") and name not in weights_of(parent / target):
                    (parent / name).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)


def _announced(folder: Path) -> list[tuple[str, str]]:
    """Each file of weights that was about to be published, with its model."""
    try:
        said = json.loads((folder / _JOURNAL).read_text())
        pairs = [(str(name), str(said["target"])) for name in said["data"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [pair for pair in pairs if all(Path(name).name == name for name in pair)]


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    with contextlib.suppress(OSError):  # some file systems cannot, and Windows cannot for folders
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
