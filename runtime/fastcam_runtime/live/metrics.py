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
"""`capture` is how old a frame is when the loop has it: the time to read it from a file, or since a camera
gave it, without any waiting for it. `end to end` is how old it is when all sinks have its picture."""

_RECENT = 30
"""Pictures that the present rate is taken over."""


class Samples:
    """Durations in milliseconds. The mean and the maximum are exact; the percentiles come from an evenly
    drawn `CAPACITY` of all samples (reservoir sampling), and are exact up to that many.
    """

    def __init__(self) -> None:
        self.count = 0
        self.max = 0.0
        self._sum = 0.0
        self._kept = np.empty(CAPACITY, np.float32)
        self._random = random.Random(0)

    def add(self, milliseconds: float) -> None:
        """Take one sample in."""
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
        """The value that `percent` of the samples do not exceed; 0 without samples."""
        kept = self._kept[: min(self.count, CAPACITY)]
        return float(np.percentile(kept, percent)) if kept.size else 0.0

    def summary(self) -> dict[str, float]:
        """Mean, p50, p90, p99, max and count, for a report."""
        percentiles = {f"p{q}": round(self.percentile(q), 4) for q in (50, 90, 99)}
        return {"mean": round(self.mean, 4), **percentiles, "max": round(self.max, 4), "count": self.count}


class StageLatencies:
    """Samples for each stage of the loop.

    Args:
        names: The stages, in their order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._samples = {name: Samples() for name in names}

    def add(self, durations: Mapping[str, float]) -> None:
        """Take in the durations of one frame; stages that it did not pass are left out."""
        for name, milliseconds in durations.items():
            self._samples[name].add(milliseconds)

    @property
    def samples(self) -> Mapping[str, Samples]:
        """The samples by stage."""
        return MappingProxyType(self._samples)


@dataclass
class LoopMetrics:
    """The loop's account of itself."""

    frames: int = 0
    seconds: float = 0.0
    stages: StageLatencies = field(default_factory=lambda: StageLatencies(STAGES))
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
    def recent_fps(self) -> float | None:
        """Pictures per second, over the last few; None where these are too few to tell."""
        span = self._written[-1] - self._written[0] if self._written else 0.0
        return (len(self._written) - 1) / span if span > 0 else None
