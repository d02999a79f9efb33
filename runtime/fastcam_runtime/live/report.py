"""The report of a run: a table for the terminal, and JSON with more figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..measure import system
from ..sinks.predictions import Predictions
from ..sources import Source
from ..text import format_table
from .metrics import LoopMetrics

_MEGABYTE = 1e6


@dataclass(frozen=True)
class RunReport:
    """The figures of one run of the loop.

    Args:
        metrics: What the loop counted.
        source: The source, for its counts of dropped and skipped frames.
        rss: Resident memory in bytes when the loop began and when it ended.
        setup: Model, input, outputs and other settings of the run.
        predictions: The predicted class of each picture.
    """

    metrics: LoopMetrics
    source: Source
    rss: tuple[int, int]
    setup: Mapping[str, Any]
    predictions: Predictions

    def text(self) -> str:
        """A few lines for the terminal; latencies in milliseconds."""
        metrics, source = self.metrics, self.source
        counts = f"{metrics.frames} frames in {metrics.seconds:.1f} s, {metrics.fps:.1f} fps"
        counts += f", {source.dropped} dropped"
        for name in ("skipped", "reconnects"):
            count = getattr(source, name)
            counts += f", {count} {name}" if count else ""
        start, end = (value / _MEGABYTE for value in self.rss)
        rows = [
            [
                name,
                *(f"{value:.2f}" for value in (s.percentile(50), s.percentile(90), s.percentile(99), s.max)),
            ]
            for name, s in metrics.stages.samples.items()
        ]
        table = format_table(["ms", "p50", "p90", "p99", "max"], rows)
        return f"{counts}\n{table}\nmemory {start:.1f} MB at the start, {end:.1f} MB at the end"

    def as_dict(self) -> dict[str, Any]:
        """All figures, in types that JSON has."""
        metrics, source = self.metrics, self.source
        return {
            **self.setup,
            "frames": metrics.frames,
            "seconds": round(metrics.seconds, 3),
            "fps": round(metrics.fps, 3),
            "dropped": source.dropped,
            "skipped": source.skipped,
            "reconnects": source.reconnects,
            "latency_ms": {name: samples.summary() for name, samples in metrics.stages.samples.items()},
            "rss_start_bytes": self.rss[0],
            "rss_end_bytes": self.rss[1],
            "cpu": system.cpu_name(),
            "versions": system.versions(),
            "predictions": self.predictions.as_list(),
        }
