"""What the loop did so far: number of pictures, rate, and the latency of each stage."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ..sinks import Status

CAPACITY = 4096

STAGES = ("capture", "preprocess", "inference", "overlay", "sink", "end to end")
"""`capture` is the age of a frame when the loop gets it: the time to read it from a file, or the time since
the camera delivered it. `end to end` is its age when all sinks have its picture."""

_RECENT = 30
"""How many pictures the recent rate is computed over."""


class Samples:
    """Durations in milliseconds, in a fixed amount of memory.

    Mean and maximum are exact. Percentiles are exact up to `CAPACITY` samples; beyond that they are estimated
    from a uniform random subset (reservoir sampling).
    """

    def __init__(self) -> None:
        self.count = 0
        self.max = 0.0
        self._sum = 0.0
        self._kept = np.empty(CAPACITY, np.float32)
        self._random = random.Random(0)

    def add(self, milliseconds: float) -> None:
        """Add one sample."""
        place = self.count if self.count < CAPACITY else self._random.randrange(self.count + 1)
        if place < CAPACITY:
            self._kept[place] = milliseconds
        self.count += 1
        self._sum += milliseconds
        self.max = max(self.max, milliseconds)

    @property
    def mean(self) -> float:
        """The mean; 0 without samples."""
        return self._sum / self.count if self.count else 0.0

    def percentile(self, percent: float) -> float:
        """The percentile, e.g. 50 for the median; 0 without samples."""
        kept = self._kept[: min(self.count, CAPACITY)]
        return float(np.percentile(kept, percent)) if kept.size else 0.0

    def summary(self) -> dict[str, float]:
        """Mean, p50, p90, p99, max and count, for a report."""
        percentiles = {f"p{q}": round(self.percentile(q), 4) for q in (50, 90, 99)}
        return {"mean": round(self.mean, 4), **percentiles, "max": round(self.max, 4), "count": self.count}


class StageLatencies:
    """Samples for each stage of the loop.

    Args:
        names: The stages, in order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._samples = {name: Samples() for name in names}

    def add(self, durations: Mapping[str, float]) -> None:
        """Add the durations of one frame, in milliseconds; it may lack some of the stages."""
        for name, milliseconds in durations.items():
            self._samples[name].add(milliseconds)

    @property
    def samples(self) -> Mapping[str, Samples]:
        """The samples by stage."""
        return MappingProxyType(self._samples)


@dataclass
class LoopMetrics:
    """Counts, rates and latencies of one loop."""

    frames: int = 0
    seconds: float = 0.0
    stages: StageLatencies = field(default_factory=lambda: StageLatencies(STAGES))
    last: Status | None = None
    """The status of the latest picture."""
    _written: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT), repr=False)

    def add(self, durations: Mapping[str, float], status: Status) -> None:
        """Count a picture that was written to all sinks.

        Args:
            durations: Milliseconds for each of the `STAGES`.
            status: The status of the picture.
        """
        self.stages.add(durations)
        self.frames += 1
        self.last = status
        self._written.append(time.monotonic())

    @property
    def fps(self) -> float:
        """Pictures per second over the whole run."""
        return self.frames / self.seconds if self.seconds else 0.0

    @property
    def recent_fps(self) -> float | None:
        """Pictures per second over the last few; None before the second one."""
        span = self._written[-1] - self._written[0] if self._written else 0.0
        return (len(self._written) - 1) / span if span > 0 else None
