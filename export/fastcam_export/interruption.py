"""What Ctrl-C and SIGTERM do to the workstation's commands: they end, and leave nothing half-done behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interrupted_once() -> Iterator[None]:
    """Stop on the first Ctrl-C or SIGTERM; further ones do not disturb the cleaning up, which is quick.

    Left to itself, Python would not survive SIGTERM long enough to remove its temporary folders. Call it
    from the main thread.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: SIGTERM; the exit code is the one that shells give to it, 143.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
