"""The cache's folder: one folder per entry, written atomically, and bounded in size."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..installation import user_cache
from ..limits import read_whole
from ..model.file import sha256
from .fingerprint import stamp

LIMIT = 512 << 20
"""Most bytes of all entries. The least recently used is deleted first; a larger entry is never made."""
_ABANDONED = 3600.0
"""Seconds after which an unfinished entry counts as abandoned."""
_DRAFT = ".making-"
_LONGEST_NOTE = 1 << 16
"""Bytes of a record: two paths and a few words."""
_MODEL, _NOTE = "model.onnx", "entry.json"


@dataclass(frozen=True)
class Entry:
    """The cache's record of one form of one file."""

    source: str
    """The path of the file that it was made from, for people."""
    outputs: str
    """The maps in it, for people."""
    form: str
    """`prepared`, `optimised`, or why nothing is kept."""
    bytes: int = 0
    """The size of the model; 0 if there is none, because it would gain nothing."""
    sha256: str = ""
    stamp: str = ""
    """The model's content, and its file's state when it was written."""


class Store:
    """The entries in a folder. Several processes may use it at the same time.

    Args:
        folder: By default that of the user.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = user_cache("prepared") if folder is None else folder

    @property
    def notes(self) -> Path:
        """The folder with the hashes of source files."""
        return self.folder / "hashes"

    def model(self, key: str) -> Path:
        """The path of the model of an entry."""
        return self.folder / key / _MODEL

    def find(self, key: str) -> Entry | None:
        """The entry of this key, marked as used now; None if there is none. A damaged entry is removed."""
        note = self.folder / key / _NOTE
        try:
            if not all(map(_is_ours, (self.folder, note.parent, note))):
                raise ValueError("somebody else's")
            entry = _read(note)
            if entry.bytes and not self._is_whole(key, entry):
                raise ValueError("damaged")
        except FileNotFoundError:
            if note.parent.exists():
                self.discard(key)
            return None
        except (OSError, ValueError, TypeError, RecursionError):
            self.discard(key)
            return None
        with suppress(OSError):  # a folder that cannot be written
            os.utime(note)
        return entry

    def _is_whole(self, key: str, entry: Entry) -> bool:
        """Whether the model is as it was written: by its file's state, else by its content."""
        model = self.model(key)
        if not _is_ours(model):
            return False
        return stamp(model) == entry.stamp or sha256(model) == entry.sha256

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A new folder for an entry; removed unless it is published.

        Raises:
            OSError: The disk is full or cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=self.folder))
        try:
            yield folder / _MODEL
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, model: Path, key: str, source: str, outputs: str, form: str) -> None:
        """Publish a draft, with its model if there is one, and make room.

        Raises:
            OSError: The disk is full or cannot be written.
        """
        entry = Entry(source, outputs, form)
        if model.exists():
            with model.open("rb") as file:
                os.fsync(file.fileno())  # a rename may reach the disk before the content does
            entry = Entry(source, outputs, form, model.stat().st_size, sha256(model), stamp(model))
        (model.parent / _NOTE).write_text(json.dumps(asdict(entry)))
        # Race: if another process was faster, its entry is as good.
        with suppress(OSError):
            model.parent.rename(self.folder / key)
        self._make_room(key)

    def entries(self) -> list[tuple[str, Entry, float]]:
        """All entries with their keys and the time of their last use, the last used first."""
        found = []
        for note in self.folder.glob(f"[!.]*/{_NOTE}"):
            with suppress(OSError, ValueError, TypeError, RecursionError):
                found.append((note.parent.name, _read(note), note.stat().st_mtime))
        return sorted(found, key=lambda item: -item[2])

    def discard(self, key: str) -> None:
        """Remove an entry; other processes never see a part of it."""
        gone = self.folder / f"{_DRAFT}{key}-{os.getpid()}-{time.monotonic_ns()}"
        with suppress(OSError):
            (self.folder / key).rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def clear(self) -> None:
        """Remove everything.

        Raises:
            OSError: It cannot be removed.
        """
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _make_room(self, newest: str) -> None:
        """Remove the least recently used entries until the others fit, and abandoned drafts."""
        size = 0
        for key, entry, _ in self.entries():
            size += entry.bytes
            if size > LIMIT and key != newest:
                self.discard(key)
        for draft in self.folder.glob(f"{_DRAFT}*"):
            with suppress(OSError):
                if time.time() - draft.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(draft, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    """Whether this user or root owns the file: in a shared folder, others could put a network of theirs."""
    return not hasattr(os, "getuid") or path.lstat().st_uid in (0, os.getuid())


def _read(note: Path) -> Entry:
    """The record in a file.

    Raises:
        OSError, ValueError, TypeError, RecursionError: It is not such a record, or is none of ours.
    """
    entry = Entry(**json.loads(read_whole(note, _LONGEST_NOTE, pipes=False)))
    texts = (entry.source, entry.outputs, entry.form, entry.sha256, entry.stamp)
    if type(entry.bytes) is not int or entry.bytes < 0 or not all(isinstance(text, str) for text in texts):
        raise ValueError("not a record")
    return entry
