"""What Ctrl-C, SIGTERM and a closed terminal do to the workstation's commands: they end, and leave nothing
half-done behind."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


class _Moment:
    """Whether a signal may stop the command now, and the one that came while it might not."""

    held = False
    waiting: int | None = None


@contextlib.contextmanager
def interrupted_once() -> Iterator[None]:
    """Stop on the first Ctrl-C, SIGTERM or SIGHUP; further ones do not disturb the cleaning up: it is quick.

    Left to itself, Python would not survive SIGTERM long enough to remove its temporary folders. Call it
    from the main thread.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        SystemExit: The others; the exit code is the one that shells give to them, 143 for SIGTERM.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        if _Moment.held:
            _Moment.waiting = number
        else:
            _stop(number)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards, also if a signal comes while it is being made.

    Args:
        prefix: What its name begins with.
        parent: Where to make it; by default where temporary files are.
    """
    with contextlib.ExitStack() as stack:
        _Moment.held = True
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix, dir=parent))
        finally:
            _Moment.held = False
        number, _Moment.waiting = _Moment.waiting, None
        if number is not None:
            _stop(number)
        yield Path(folder)


def _stop(number: int) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
