"""Recordings of live sources that play at the speed of life."""

from __future__ import annotations

import time
from collections.abc import Callable

from .preprocess import Array
from .sinks import Sink, Status

_LONGEST_GAP = 2.0
"""Seconds that are filled with the same picture; a longer gap is a pause, and is left out."""


class RealTime(Sink):
    """Gives a video its pictures at the rate that it declares, whatever rate they come at.

    A camera may declare 30 frames per second where the network manages 12: one by one they would play at more
    than double speed. So each picture is written as often as its time asks for, or not at all.

    Args:
        sink: The video.
        fps: The rate that it declares.
        clock: Tells the time in seconds.
    """

    def __init__(self, sink: Sink, fps: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._sink = sink
        self._fps = fps
        self._clock = clock
        self._start: float | None = None
        self._last = 0.0
        self._written = 0

    def write(self, picture: Array, status: Status) -> None:
        now = self._clock()
        if self._start is None:
            self._start = self._last = now
        self._start += max(0.0, now - self._last - _LONGEST_GAP)
        self._last = now
        while self._written <= (now - self._start) * self._fps:
            self._sink.write(picture, status)
            self._written += 1

    def close(self) -> None:
        self._sink.close()
