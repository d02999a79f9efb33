"""A lower rate than the camera's: which of its frames make it up."""

from __future__ import annotations

import math


class RateLimit:
    """Takes frames at a rate, whatever the rate they come at, and none is held back for it.

    In the long run no more are taken than the rate allows. A frame that comes up to half a period early is
    taken too: cameras are not punctual, and one at just this rate would lose every second frame otherwise.

    Args:
        fps: Frames per second to take; None for all.
    """

    def __init__(self, fps: float | None) -> None:
        self._period = 1 / fps if fps else 0.0
        self._due = -math.inf

    def accepts(self, time: float) -> bool:
        """Whether a frame captured at `time` seconds, later than those asked about before, is taken."""
        if time < self._due - self._period / 2:
            return False
        # What a gap left out is not made up for.
        missed = time - self._due > self._period
        self._due = (time if missed else self._due) + self._period
        return True
