"""Timing in rounds: every contender runs once per round, so that drift of the machine affects all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fastcam_runtime.measure import paired as bench

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""`cpu` is the CPU time of the process: for one thread on a shared machine."""


@dataclass
class Contender:
    """Something that is timed against others: `time_ms` does the work once and returns the time."""

    name: str
    time_ms: Callable[[], float]
    samples: list[float] = field(default_factory=list)
    """Milliseconds, one per round."""

    @classmethod
    def of(cls, name: str, work: Callable[[], object], clock: str = "wall") -> Contender:
        """A contender that calls `work`, timed in this process."""
        now = CLOCKS[clock]

        def time_ms() -> float:
            started = now()
            work()
            return 1e3 * (now() - started)

        return cls(name, time_ms)

    def without_work(self) -> Contender:
        """Its samples alone, which do not keep the work's memory, such as a session, alive."""
        return Contender(self.name, _no_work, self.samples)


def _no_work() -> float:
    raise RuntimeError("the work of this contender is done")


def measure(
    contenders: Sequence[Contender],
    rounds: int,
    *,
    warm_up: int = bench.WARM_UP,
    pause: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run every contender once per round and keep its times; the warm-up rounds do not count.

    The order is reversed from round to round, and rotated every second one, so that no contender always
    follows the same one.

    Args:
        contenders: Their earlier samples are dropped.
        rounds: The number of counted rounds.
        warm_up: The number of rounds before those.
        pause: Seconds to wait before each run. onnxruntime's pools spin on for a while after a run; with
            several threads they would take cores from the next contender.
        progress: Called with the number of each finished round.
    """
    for contender in contenders:
        contender.samples.clear()
    for number in range(-warm_up, rounds):
        start = (number // 2) % len(contenders)
        order = [*contenders[start:], *contenders[:start]]
        for contender in reversed(order) if number % 2 else order:
            if pause:
                time.sleep(pause)
            elapsed = contender.time_ms()
            if number >= 0:
                contender.samples.append(elapsed)
        if progress is not None and number >= 0:
            progress(number)


def summary(contender: Contender) -> dict[str, float]:
    """Median and quartiles of its times, in milliseconds."""
    first, median, third = np.percentile(contender.samples, (25, 50, 75))
    return {"median_ms": float(median), "p25_ms": float(first), "p75_ms": float(third)}


def difference(
    reference: Contender, contender: Contender, *, whole: Contender | None = None
) -> dict[str, Any]:
    """The extra time of `contender` over `reference`, from the differences within each round.

    Returns:
        `median_ms` and the same in `percent` of the median of `whole` (by default the reference); the
        quartiles of the differences and the 95 % bootstrap interval of their median, both in percent.
    """
    paired = bench.Difference.between(reference.samples, contender.samples)
    percent = 100 / float(np.median((whole or reference).samples))
    return {
        "median_ms": paired.median,
        "percent": percent * paired.median,
        "quartiles_percent": [percent * value for value in paired.quartiles],
        "interval_percent": [percent * value for value in paired.interval],
    }
