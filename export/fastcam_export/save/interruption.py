"""What Ctrl-C, SIGTERM and a closed terminal do to the workstation's commands: they end, and leave nothing
half-done behind."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import ClassVar

from fastcam_runtime.cli.signals import handled


class _Moment:
    """Whether a signal may stop the command now, the one that came while it might not, and what to remove."""

    held = False
    waiting: int | None = None
    folders: ClassVar[set[str]] = set()


@contextlib.contextmanager
def interrupted_once() -> Iterator[None]:
    """Stop on the first Ctrl-C, SIGTERM or SIGHUP; further ones do not disturb the cleaning up: it is quick.

    Left to itself, Python would not survive SIGTERM long enough to remove its temporary folders. Call it
    from the main thread.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: The others; the exit code is the one that shells give to them, 143 for SIGTERM.
    """

    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        # Not SIG_IGN: Python complains about signals that came just before it was set.
        nonlocal stopped
        if stopped:
            return
        stopped = True
        if _Moment.held:
            _Moment.waiting = number
        else:
            _stop(number)

    with handled(stop):
        try:
            yield
        finally:
            # A signal may have come between making a folder and using it, or before its removal began.
            for folder in list(_Moment.folders):
                _remove(folder)


@contextlib.contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards, also if a signal comes while it is being made or removed.

    Args:
        prefix: What its name begins with.
        parent: Where to make it; by default where temporary files are.
    """
    with undisturbed():
        folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
        _Moment.folders.add(folder)
    try:
        yield Path(folder)
    finally:
        # A signal in the midst of it could make Python close a file twice, and fail for that.
        with undisturbed():
            _remove(folder)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold a signal of `interrupted_once` back, and obey it afterwards. For what is quick; not nested."""
    _Moment.held = True
    try:
        yield
    finally:
        _Moment.held = False
    number, _Moment.waiting = _Moment.waiting, None
    if number is not None:
        _stop(number)


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _Moment.folders.discard(folder)


def _stop(number: int) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
