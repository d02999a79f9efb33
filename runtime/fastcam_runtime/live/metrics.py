"""Metrics of the loop: number of pictures, frame rate, and the latency of each stage."""

from __future__ import annotations

import bisect
import random
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ..explanation import DETECT
from ..sources import Source

CAPACITY = 4096

STAGES = ("capture", "preprocess", "inference", "overlay", "sink", "waiting", "end to end")
"""`capture` is the age of a frame when the loop gets it: the time to read it from a file, or the time since
the camera delivered it. `end to end` is its age when all sinks have its picture. `waiting` is the part of
`end to end` in which the frame was idle: in a queue, or as the camera's newest frame, not yet read."""

BUCKETS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Upper bounds of the histogram of latencies, in milliseconds; above the last is one more bucket."""

_ALL_STAGES = (*STAGES[:3], DETECT, *STAGES[3:])

_RECENT = 30
"""How many pictures the recent rate is computed over."""
HISTORY_SECONDS = 120
SILENT_SECONDS = 3.0
SILENT_PICTURES = 3
"""A source counts as silent after both this time and this many frame periods without a picture."""


def overdue(age: float, fps: float | None) -> int | None:
    """Whole seconds since the latest picture if several pictures are overdue; else None.

    `fps` are recent pictures per second; None if a rate has no meaning.
    """
    return int(age) if fps and age > max(SILENT_SECONDS, SILENT_PICTURES / fps) else None


class Samples:
    """Durations in milliseconds, in a fixed amount of memory.

    Mean and maximum are exact. Percentiles are exact up to `CAPACITY` samples; beyond that they are estimated
    from a uniform random subset (reservoir sampling).
    """

    def __init__(self) -> None:
        self.count = 0
        self.max = 0.0
        self.sum = 0.0
        self.buckets = [0] * (len(BUCKETS) + 1)
        """Number of samples in each of the `BUCKETS`, and above the last."""
        self._kept = np.empty(CAPACITY, np.float32)
        self._random = random.Random(0)

    def add(self, milliseconds: float) -> None:
        """Add one sample."""
        place = self.count if self.count < CAPACITY else self._random.randrange(self.count + 1)
        if place < CAPACITY:
            self._kept[place] = milliseconds
        self.count += 1
        self.sum += milliseconds
        self.max = max(self.max, milliseconds)
        self.buckets[bisect.bisect_left(BUCKETS, milliseconds)] += 1

    @property
    def mean(self) -> float:
        """The mean; 0 without samples."""
        return self.sum / self.count if self.count else 0.0

    def percentile(self, percent: float) -> float:
        """The percentile, e.g. 50 for the median; 0 without samples."""
        kept = self._kept[: min(self.count, CAPACITY)]
        return float(np.percentile(kept, percent)) if kept.size else 0.0

    def summary(self) -> dict[str, float]:
        """Mean, p50, p90, p99, max and count, for a report."""
        percentiles = {f"p{q}": round(self.percentile(q), 4) for q in (50, 90, 99)}
        return {"mean": round(self.mean, 4), **percentiles, "max": round(self.max, 4), "count": self.count}


class StageLatencies:
    """Samples for each stage of the loop, in order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._samples = {name: Samples() for name in names}

    def add(self, durations: Mapping[str, float]) -> None:
        """Add the durations of one frame, in milliseconds; it may lack some of the stages."""
        for name, milliseconds in durations.items():
            self._samples[name].add(milliseconds)

    @property
    def samples(self) -> Mapping[str, Samples]:
        """The samples by stage; only a detector has the stage of decoding boxes."""
        return MappingProxyType({n: s for n, s in self._samples.items() if n != DETECT or s.count})


@dataclass
class LoopMetrics:
    """Counts, rates and latencies of one loop. One thread adds to it, any thread may read it."""

    frames: int = 0
    seconds: float = 0.0
    stages: StageLatencies = field(default_factory=lambda: StageLatencies(_ALL_STAGES))
    """The latencies of all frames except the cold ones."""
    cold: StageLatencies = field(default_factory=lambda: StageLatencies(_ALL_STAGES))
    """The latencies of cold frames: the first frame, and the first one of a new view or class."""
    classes: Counter[str] = field(default_factory=Counter)
    """How many frames had each class as the most likely one."""
    dropped: int = 0
    skipped: int = 0
    reconnects: int = 0
    """The source's counts."""
    latest: Mapping[str, float] = field(default_factory=dict)
    """The milliseconds of the latest picture: work by stage, waiting, and both together as `end to end`."""
    history: deque[int] = field(default_factory=lambda: deque(maxlen=HISTORY_SECONDS))
    """Pictures in each of the last full seconds, the latest at the end."""
    _written: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT), repr=False)
    _second: tuple[int, int] = field(default=(0, 0), repr=False)
    """The current second, and the pictures in it so far."""

    def add(
        self,
        durations: Mapping[str, float],
        *,
        end_to_end: float,
        waited: float = 0.0,
        label: str | None = None,
        cold: bool = False,
    ) -> None:
        """Count a picture that was written to all sinks.

        Args:
            durations: Milliseconds for each of the `STAGES` except the last two.
            end_to_end: The age of its frame now, in milliseconds.
            waited: The part of `capture` in which the frame was idle.
            label: The most likely class.
            cold: Whether the latencies belong to a cold frame.
        """
        work = sum(durations.values()) - waited
        totals = {"waiting": max(0.0, end_to_end - work), "end to end": end_to_end}
        (self.cold if cold else self.stages).add({**durations, **totals})
        if waited:  # as a part of the waiting it is no work
            durations = {stage: value for stage, value in durations.items() if stage != "capture"}
        self.latest = {**durations, **totals}
        self.frames += 1
        if label is not None:
            self.classes[label] += 1
        now = time.monotonic()
        self._written.append(now)
        self._pass_to(int(now))
        self._second = (self._second[0], self._second[1] + 1)

    def count(self, source: Source) -> None:
        """Copy the counts of the source."""
        self.dropped, self.skipped, self.reconnects = source.dropped, source.skipped, source.reconnects

    def recent_history(self) -> list[int]:
        """Pictures in each of the last full seconds, the latest at the end; seconds without any are 0."""
        second, count = self._second
        past = list(self.history)
        missing = int(time.monotonic()) - second if self.frames else 0
        if missing > 0:
            past += [count, *[0] * min(missing - 1, HISTORY_SECONDS)]
        return past[-HISTORY_SECONDS:]

    @property
    def fps(self) -> float:
        """Pictures per second over the whole run."""
        return self.frames / self.seconds if self.seconds else 0.0

    @property
    def recent_fps(self) -> float | None:
        """Pictures per second over the last few pictures; None before the second one."""
        span = self._written[-1] - self._written[0] if self._written else 0.0
        return (len(self._written) - 1) / span if span > 0 else None

    @property
    def age(self) -> float | None:
        """Seconds since the latest picture; None before the first one."""
        return time.monotonic() - self._written[-1] if self._written else None

    @property
    def silent_seconds(self) -> int | None:
        """Whole seconds without a picture if several are overdue, as when a camera is lost; else None."""
        return None if self.age is None else overdue(self.age, self.recent_fps)

    def _pass_to(self, second: int) -> None:
        """Move finished seconds into the history."""
        before, count = self._second
        if self.frames == 1:
            self._second = (second, 0)
        elif second > before:
            self.history.append(count)
            self.history.extend([0] * min(second - before - 1, HISTORY_SECONDS))
            self._second = (second, 0)
