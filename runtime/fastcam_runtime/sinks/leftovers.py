"""Parts of recordings whose process was killed: find them by their names, and recover them."""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2

from ..errors import SinkError
from ..uri_kinds import local_path
from .atomic import beside
from .base import Status
from .encoders import FORMATS
from .encoders.containers import copy_streams
from .encoders.opencv import plays
from .encoders.webp import repair
from .video import VideoFile

logger = logging.getLogger(__name__)

_PART = re.compile(r"\.(?P<stem>.+)\.(?P<owner>\d+)\.part(?P<suffix>\.\w+)", re.DOTALL)
"""The names that `beside` gives."""
_UNFINISHED = re.compile(r"\..+\.(?P<owner>\d+)\.part")
"""The names of folders in which a frame is being kept; see `unfinished`."""
_CLOCKS = 2.0
"""Seconds by which the clock of the file system and the start of a process may differ."""


@dataclass(frozen=True)
class Leftover:
    """A part that no process writes any more."""

    part: Path
    target: Path
    """The path of the recording that it belongs to."""


def leftovers(folder: Path) -> list[Leftover]:
    """The parts of recordings in a folder whose processes are gone, sorted by name."""
    found = []
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    for path in paths:
        match = _PART.fullmatch(path.name)
        if match is None or match["suffix"].lower() not in FORMATS or _is_written(path, int(match["owner"])):
            continue
        if _PART.fullmatch(match["stem"] + match["suffix"]):  # the copy of a part that still exists
            path.unlink(missing_ok=True)
            continue
        found.append(Leftover(path, folder / f"{match['stem']}{match['suffix']}"))
    return found


def tell_leftovers(outputs: Iterable[str], kept: Path) -> None:
    """Log the parts beside recordings among `outputs` and in the folder `kept`, and how to recover each."""
    recordings = (local_path(uri) for uri in outputs if "://" not in uri)
    folders = [path.parent for path in recordings if path.suffix.lower() in FORMATS]
    for folder in dict.fromkeys([*folders, kept]):
        for leftover in leftovers(folder):
            logger.warning(
                "%s is left of a recording that was cut off; recover it with: fastcam recover %s",
                leftover.part,
                shlex.quote(str(leftover.part)),
            )


def unfinished(folder: Path, name: str) -> Path:
    """The folder in which this process writes the files of a frame before it is named `name`."""
    return folder / f".{name}.{os.getpid()}.part"


def remove_unfinished(folder: Path) -> None:
    """Delete the unfinished frames of dead processes in a folder."""
    for path in folder.glob(".*.part"):
        match = _UNFINISHED.fullmatch(path.name)
        if match is not None and path.is_dir() and not _is_written(path, int(match["owner"])):
            shutil.rmtree(path, ignore_errors=True)


def find_parts(path: Path) -> list[Leftover]:
    """The parts that a user names: one part, or all parts of the recording `path`.

    Raises:
        SinkError: There is none, or it is still being written.
    """
    there = leftovers(path.parent)
    found = [leftover for leftover in there if path in (leftover.part, leftover.target)]
    if found:
        return found
    if _PART.fullmatch(path.name) and path.exists():
        raise SinkError(f"{path}: a process still writes it, or it is not a recording")
    names = ", ".join(str(leftover.part) for leftover in there)
    raise SinkError(f"{path}: no part of a recording that was cut off; there is {names or 'none'}")


def recover(leftover: Leftover) -> Path:
    """Turn a part into a playable file, remove the part, and return the file's path.

    An existing recording is kept; the recovered one then gets another name.

    Raises:
        SinkError: Nothing in it can be played. The part stays.
    """
    target, number = leftover.target, 1
    while target.exists():
        ending = "-recovered" if number == 1 else f"-recovered-{number}"
        target = leftover.target.with_name(f"{leftover.target.stem}{ending}{leftover.target.suffix}")
        number += 1
    draft = beside(leftover.part)
    if not _rewrite(leftover.part, draft):
        draft.unlink(missing_ok=True)
        raise SinkError(
            f"{leftover.part}: holds no picture that can be read; a .mp4 that was recorded without ffmpeg "
            "has its index at the end only"
        )
    draft.replace(target)
    leftover.part.unlink()
    return target


def _rewrite(part: Path, draft: Path) -> bool:
    """Write the readable pictures of `part` to `draft`; returns whether it can be played."""
    if part.suffix.lower() == ".webp":
        return repair(part, draft)
    program = shutil.which("ffmpeg")
    if program is not None and copy_streams(program, part, draft):
        return True
    return _record_again(part, draft) and plays(draft)


def _record_again(part: Path, draft: Path) -> bool:
    """Decode and encode all pictures with OpenCV; returns whether there was any."""
    capture = cv2.VideoCapture(str(part.absolute()))
    try:
        fps = capture.get(cv2.CAP_PROP_FPS)
        count = 0
        with VideoFile(draft, fps if 0 < fps <= 1000 else 30.0) as video:
            while (picture := capture.read()[1]) is not None:
                video.write(picture, Status(count))
                count += 1
        return count > 0
    finally:
        capture.release()


def _is_written(part: Path, owner: int) -> bool:
    """Whether the process in a part's name still runs, and is not a later process with the same number."""
    if owner == 0:
        return False
    if sys.platform == "win32":  # no way to ask without a library
        return True
    try:
        os.kill(owner, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    started = _start_of(owner)
    return started is None or started < part.stat().st_mtime + _CLOCKS


def _start_of(process: int) -> float | None:
    """When a process started, in seconds since 1970; None if the system does not report it."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        boot = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    if boot is None:
        return None
    return int(boot[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
