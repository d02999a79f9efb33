"""Rate limit for a camera that is faster than requested."""

from __future__ import annotations

import math


class RateLimit:
    """Selects frames so that their average rate stays below `fps`. It never delays a frame.

    A frame may be up to half a period early: cameras jitter, and one that runs at exactly this rate would
    otherwise lose every second frame.
    """

    def __init__(self, fps: float | None) -> None:
        self._period = 1 / fps if fps else 0.0
        self._due = -math.inf

    def accepts(self, time: float) -> bool:
        """Whether to keep a frame captured at `time` seconds. Times must not decrease from call to call."""
        if time < self._due - self._period / 2:
            return False
        # After a gap, start a new schedule instead of catching up.
        missed = time - self._due > self._period
        self._due = (time if missed else self._due) + self._period
        return True
