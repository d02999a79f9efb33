"""The signals that end a command: Ctrl-C, SIGTERM, and SIGHUP when the terminal closes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

CLEANUPS: list[Callable[[], None]] = []
"""What `end_at_once` does first: it removes temporary folders."""

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[list[signal.Signals]]:
    """Handle these signals with `handler`; yields the signals it handles. Call it from the main thread.

    A signal that is ignored stays ignored: `nohup` and a shell's `&` rely on that.
    """
    known = [signal.Signals[name] for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    taken = [number for number in known if before[number] != signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handler)
    try:
        yield taken
    finally:
        for number in taken:
            signal.signal(number, before[number])


def end_at_once(code: int, message: str = "") -> NoReturn:
    """End the process from any thread, also while another one is inside a library and cannot be stopped.

    Args:
        code: The exit code.
        message: One line for standard error.
    """
    for clean in CLEANUPS:
        clean()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # its lock may be held
            if stream is sys.stderr and message:
                print(f"fastcam: error: {message}", file=stream)
            stream.flush()
    os._exit(code)
