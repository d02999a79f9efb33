"""The signals that end a command: Ctrl-C, SIGTERM, and SIGHUP when the terminal closes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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
