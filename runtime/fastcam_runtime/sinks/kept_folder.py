"""A folder for the files that a running loop keeps: limited in number and size, oldest deleted first."""

from __future__ import annotations

import re
import shutil
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from ..errors import FastcamError, SinkError
from .atomic import prepare_folder

_STAMP = re.compile(r"\d{8}T\d{6}-\d{3}Z")
"""The prefix of our names: the time in UTC. So sorting by name sorts by time."""


@dataclass(frozen=True)
class Kept:
    """One entry of the folder: a file, or a folder of files that belong together."""

    path: Path
    files: int
    bytes: int

    @property
    def name(self) -> str:
        """Its name in the folder."""
        return self.path.name


class KeptFolder:
    """Keeps within its limits by deleting its oldest entries; it does not touch files of other programs.

    All methods are thread-safe. The folder is created when the first file is kept. A megabyte has 10⁶ bytes.

    Raises:
        FastcamError: A limit is below 1.
    """

    def __init__(self, path: Path, files: int = 1000, megabytes: float = 500) -> None:
        for name, value in (("files", files), ("megabytes", megabytes)):
            if value < 1:
                raise FastcamError(f"{path}: at least 1 {name.rstrip('s')} is needed, not {value}")
        self.path = path
        self.files = files
        self.bytes = int(megabytes * 1e6)
        self._lock = threading.Lock()
        self._last = ""

    def new_name(self) -> str:
        """A new name that sorts after all earlier ones: the time in UTC."""
        with self._lock:
            prepare_folder(self.path, str(self.path))
            moment = datetime.now(timezone.utc).timestamp()
            while True:
                text = datetime.fromtimestamp(moment, timezone.utc).strftime("%Y%m%dT%H%M%S-%f")[:-3] + "Z"
                if text > self._last and not any(self.path.glob(f"{text}*")):
                    self._last = text
                    return text
                moment += 0.001

    def kept(self) -> list[Kept]:
        """The entries, oldest first."""
        found = []
        try:
            paths = sorted(path for path in self.path.iterdir() if _STAMP.match(path.name))
        except OSError:  # nothing was kept yet
            return []
        for path in paths:
            try:
                parts = list(path.iterdir()) if path.is_dir() else [path]
                found.append(Kept(path, len(parts), sum(part.stat().st_size for part in parts)))
            except OSError:  # race: deleted meanwhile
                continue
        return found

    def make_room(self, files: int, size: int) -> None:
        """Delete the oldest entries until `files` more files of `size` bytes in total fit.

        Raises:
            SinkError: They would not fit into the empty folder.
        """
        if files > self.files or size > self.bytes:
            raise SinkError(
                f"{self.path}: its limit of {self.files} files and {self.bytes / 1e6:g} MB is too low for "
                f"{files} files of {size / 1e6:.1f} MB"
            )
        with self._lock:
            there = self.kept()
            files += sum(kept.files for kept in there)
            size += sum(kept.bytes for kept in there)
            for oldest in there:
                if files <= self.files and size <= self.bytes:
                    return
                _delete(oldest.path)
                files -= oldest.files
                size -= oldest.bytes


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
