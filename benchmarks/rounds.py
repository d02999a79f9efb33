"""Timing in rounds: every contender once per round, so that a drift of the machine is everybody's drift."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fastcam_runtime.measure import paired as bench

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
"""`cpu` counts the process's own processor time: for one thread on a machine that others use as well."""


@dataclass
class Contender:
    """Something that is timed against others: `time_ms` does the work once and says how long it took."""

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


def measure(
    contenders: Sequence[Contender],
    rounds: int,
    *,
    warm_up: int = bench.WARM_UP,
    pause: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run every contender once per round and keep its times; the warm-up rounds do not count.

    The order is reversed from round to round, and turned every second one: nobody always follows the same.

    Args:
        contenders: Their earlier samples are dropped.
        rounds: How many count.
        warm_up: How many are run before those.
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
    """What `contender` takes beyond `reference`, from the differences within each round.

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
