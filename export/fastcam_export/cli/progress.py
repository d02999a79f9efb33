"""Progress: one line that is rewritten on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import TextIO

_WIDTH = 24
_CLEAR = "\r\x1b[K"
_TELLING = 2.0
"""Seconds before the remaining time is shown."""


class Progress:
    """Stages one after the other; each leaves a line with the time it took.

    Use it in a `with` statement: later output then begins on a new line. Without a stream, as where standard
    error is closed, or with one that cannot be written, nothing is shown: the work goes on.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._rewrites = stream is not None and stream.isatty()
        self._stage = ""
        self._started = 0.0
        self._estimated = False

    def begin(self, stage: str) -> None:
        """End the previous stage and begin this one."""
        self._end()
        self._stage, self._started = stage, time.monotonic()
        self._write(f"{stage} … ")

    def say(self, text: str) -> None:
        """A line of its own, between two stages."""
        self._end()
        self._write(f"{text}\n")

    def update(self, done: int, total: int, left: float | None = None) -> None:
        """Report how much of the stage is done.

        The remaining time is estimated from the stage, unless the seconds that are `left` are given. Where no
        line is rewritten, they are written once.
        """
        early = not done or time.monotonic() - self._started < _TELLING
        if self._rewrites:
            filled = _WIDTH * done // total
            bar = "━" * filled + "─" * (_WIDTH - filled)
            if left is None and not early:
                left = (time.monotonic() - self._started) / done * (total - done)
            told = "" if left is None else f"{_minutes(left)} left "
            self._write(f"{_CLEAR}{self._stage} … {bar} {done}/{total} {told}")
        elif left is not None and not early and not self._estimated:
            self._estimated = True
            self._write(f"(about {_minutes(left)} left) ")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end()
        elif self._stage:
            self._write("\n")

    def _end(self) -> None:
        if self._stage:
            again = f"{_CLEAR}{self._stage} … " if self._rewrites else ""
            self._write(f"{again}{time.monotonic() - self._started:.1f} s\n")
        self._stage = ""

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
