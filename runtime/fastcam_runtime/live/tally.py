"""What the loop did so far: how many pictures, how fast, and how long every stage of them took."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..sinks import Status
from .latency import Stages

STAGES = ("capture", "preprocess", "inference", "overlay", "sink", "end to end")
"""`capture` is how old a frame is when the loop has it: the time to read it from a file, or since a camera
gave it, without any waiting for it. `end to end` is how old it is when all sinks have its picture."""

_RECENT = 30
"""Pictures that the present rate is taken over."""


@dataclass
class Tally:
    """The loop's account of itself."""

    frames: int = 0
    seconds: float = 0.0
    stages: Stages = field(default_factory=lambda: Stages(STAGES))
    last: Status | None = None
    """What was said with the last picture."""
    _written: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT), repr=False)

    def add(self, durations: Mapping[str, float], status: Status) -> None:
        """Count a picture that all sinks have.

        Args:
            durations: Milliseconds of each of the `STAGES`.
            status: What was said with it.
        """
        self.stages.add(durations)
        self.frames += 1
        self.last = status
        self._written.append(time.monotonic())

    @property
    def fps(self) -> float:
        """Pictures per second, over all."""
        return self.frames / self.seconds if self.seconds else 0.0

    @property
    def present_fps(self) -> float | None:
        """Pictures per second, over the last few; None where these are too few to tell."""
        span = self._written[-1] - self._written[0] if self._written else 0.0
        return (len(self._written) - 1) / span if span > 0 else None
