"""Run the parts of a benchmark, each in its own process, and end all of them with this process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_POLL = 0.2
"""Seconds between two readings of the memory."""
_TOLD_EVERY = 30.0
"""Seconds between two lines about the remaining time."""
_PATIENCE = 5.0
"""Seconds that a process has to end after SIGTERM."""


class Stopped(Exception):
    """This process was asked to end."""


@dataclass(frozen=True)
class Ended:
    """How a part ended."""

    code: int
    seconds: float
    peak_bytes: int
    """The peak resident memory of the process and its children together."""


def run(command: Sequence[str], tell: Callable[[float], None]) -> Ended:
    """Run a command in its own process group; the whole group ends with this function.

    Args:
        command: The program and its arguments.
        tell: Called from time to time with the seconds since the start.
    """
    started = told = time.monotonic()
    process = subprocess.Popen(command, start_new_session=True)
    peak = 0
    try:
        while process.poll() is None:
            peak = max(peak, sum(_resident(member) for member in _family(process.pid)))
            now = time.monotonic()
            if now - told >= _TOLD_EVERY:
                told = now
                tell(now - started)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
    finally:
        _end_group(process)
    return Ended(process.returncode, time.monotonic() - started, peak)


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Turn SIGTERM and Ctrl-C into `Stopped`, once, so that the clean-up is not interrupted."""

    def stop(number: int, _: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Remaining:
    """Estimates the remaining time of a list of parts from the usual minutes of each and the speed so far.

    Args:
        minutes: The usual minutes of each part, in their order.
    """

    def __init__(self, minutes: Mapping[str, float]) -> None:
        self._minutes = dict(minutes)
        self._usual_so_far = 0.0
        self._seconds_so_far = 0.0

    def finish(self, part: str, seconds: float) -> None:
        """Note how long a part took."""
        self._usual_so_far += self._minutes.pop(part)
        self._seconds_so_far += seconds

    def text(self, part: str, seconds: float = 0.0) -> str:
        """What is left, `seconds` after the start of `part`: `about 6 min left`."""
        pace = self._seconds_so_far / (60 * self._usual_so_far) if self._usual_so_far else 1.0
        here = 60 * self._minutes[part] * pace
        later = sum(60 * usual * pace for name, usual in self._minutes.items() if name != part)
        left = max(here - seconds, 0.1 * seconds) + later  # a part may take longer than usual
        return (
            f"about {left / 60:.0f} min left" if left >= 90 else f"about {10 * round(left / 10):.0f} s left"
        )


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children; those that ignore SIGTERM are killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and _group_lives(process.pid):
            time.sleep(0.05)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _family(pid: int) -> Iterator[int]:
    """A process and its descendants, if the system lists them."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child))


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
