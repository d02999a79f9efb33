"""End the commands on Ctrl-C, SIGTERM or a closed terminal, without leaving partial files."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from fastcam_runtime.cli.signals import CLEANUPS, FAULT, end_at_once, first_only, handled, stop


class _Moment:
    """The state: whether signals are deferred, the pending signal, and the folders to remove."""

    held = False
    waiting: int | None = None
    folders: ClassVar[set[str]] = set()
    answered = threading.Event()
    """Set when a signal has had its effect."""
    keeping = False
    worth: Callable[[], object] | None = None
    """Whether there are results that are worth waiting for."""


@contextlib.contextmanager
def interrupted_once() -> Iterator[None]:
    """Stop on the first Ctrl-C, SIGTERM or SIGHUP. Further signals do not interrupt the clean-up.

    By default SIGTERM ends Python before it removes temporary folders. Call this from the main thread.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: The other signals, with the exit code that shells use: 143 for SIGTERM.
    """

    def defer_or_stop(number: int) -> None:
        if _Moment.held:
            _Moment.waiting = number
        else:
            stop(number)

    with handled(first_only(defer_or_stop)), _in_time():
        try:
            yield
        finally:
            # A signal may have come between making a folder and using it, or before its removal.
            for folder in list(_Moment.folders):
                _remove(folder)


@contextlib.contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder that is removed afterwards, also if a signal comes while it is being made or removed."""
    with undisturbed():
        folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
        _Moment.folders.add(folder)
    try:
        yield Path(folder)
    finally:
        # A signal during the removal could make Python close a file twice, which fails.
        with undisturbed():
            _remove(folder)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Defer the signals of `interrupted_once` to the end of the block. For quick work only; not nested."""
    _Moment.held = True
    try:
        yield
    finally:
        _Moment.held = False
    number, _Moment.waiting = _Moment.waiting, None
    if number is not None:
        stop(number)


@contextlib.contextmanager
def waiting_for_results(there: Callable[[], object]) -> Iterator[None]:
    """In this block Ctrl-C waits until a library returns, however long it computes, if `there()` is true.

    Otherwise the results so far would be lost. Another signal, a moment later, ends the process at once.
    """
    _Moment.worth = there
    try:
        yield
    finally:
        _Moment.worth = None


def keep_results() -> None:
    """Call it after KeyboardInterrupt, before results so far are printed, which may take long.

    Another signal, a moment later, ends the process at once.
    """
    _Moment.keeping = True
    _Moment.answered.set()


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _Moment.folders.discard(folder)


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """End the process if a signal has no effect for a while.

    Python runs a handler only when the main thread is back from a library, which may compute for minutes.
    The system writes the number of the signal to a socket at once, and a thread waits there.
    """
    _Moment.answered, _Moment.keeping = threading.Event(), False
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def watch() -> None:
        first: float | None = None
        number, patient, told = 0, False, False
        while True:
            waits = first is not None and not _Moment.answered.is_set()
            reader.settimeout(_PERIOD if waits else None)
            received = _receive(reader)
            if received == b"":
                return
            now = time.monotonic()
            if received:
                number = received[0]
                if number == signal.SIGFPE:
                    end_at_once(2, FAULT)
                if first is None:
                    first = now
                    patient = number == signal.SIGINT and bool(_Moment.worth and _Moment.worth())
                elif now > first + _TWICE and (patient or _Moment.keeping):
                    end_at_once(128 + number)
            assert first is not None
            if _Moment.answered.is_set():
                if not _Moment.keeping:
                    return
            elif now > first + _PATIENCE and not patient:
                end_at_once(128 + number)
            elif now > first + _TWICE and patient and not told:
                told = True
                _tell_patience()

    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=watch, name="fastcam signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        _Moment.answered.set()
        writer.close()
        thread.join()
        reader.close()


def _receive(reader: socket.socket) -> bytes | None:
    """The next signal; empty at the end, None if none came in time."""
    try:
        return reader.recv(1)
    except TimeoutError:
        return None


def _tell_patience() -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # its lock may be held
        if sys.stderr is not None:
            print("\nfinishing the current run, then the results so far; Ctrl-C again ends at once",
                  file=sys.stderr, flush=True)  # fmt: skip


_PATIENCE = 2.0
"""Seconds between a signal and the end of the process at the latest, unless there are results to wait for."""
_TWICE = 0.5
"""Seconds after which a second signal is one of its own: `timeout` sends each twice, at once."""
_PERIOD = 0.05
"""Seconds between two looks at whether a signal has had its effect."""


def _remove_all() -> None:
    """Remove the temporary folders of a process that ends at once; a publication is not cut short."""
    end = time.monotonic() + _LONGEST_PUBLICATION
    while _Moment.held and time.monotonic() < end:
        time.sleep(0.01)
    for folder in list(_Moment.folders):
        _remove(folder)


CLEANUPS.append(_remove_all)
_LONGEST_PUBLICATION = 2.0
