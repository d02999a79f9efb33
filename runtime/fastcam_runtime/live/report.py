"""The report of a run: a table for the terminal, and JSON with more figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..measure import system
from ..sinks import Status
from ..sources import Source
from ..text import format_table
from .metrics import LoopMetrics, Samples

_MEGABYTE = 1e6


@dataclass(frozen=True)
class RunReport:
    """The figures of one run of the loop.

    Args:
        metrics: What the loop counted.
        source: The source, for its counts of dropped and skipped frames.
        rss: Resident memory in bytes when the loop began and when it ended.
        setup: Model, input, outputs and other settings of the run.
        last: The status of the latest picture.
    """

    metrics: LoopMetrics
    source: Source
    rss: tuple[int, int]
    setup: Mapping[str, Any]
    last: Status | None = None

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
            for name, s in self._latencies.items()
        ]
        lines = [
            counts,
            format_table(["ms", "p50", "p90", "p99", "max"], rows),
            "end to end: from the capture of a frame to its picture in all outputs, i.e. the work of all "
            "stages and the waiting in queues between them",
            *self._cold_frames(),
            f"memory {start:.1f} MB at the start, {end:.1f} MB at the end",
        ]
        return "\n".join(lines)

    def _cold_frames(self) -> list[str]:
        """A line about the frames that are not in the table."""
        total, inference = (self.metrics.cold.samples[stage] for stage in ("end to end", "inference"))
        if not total.count or self._all_cold:
            return []
        which = "the first frame" if total.count == 1 else f"{total.count} frames, at most"
        return [
            f"not in the table, because cold: {which} {total.max:.1f} ms end to end, "
            f"{inference.max:.1f} ms inference"
        ]

    @property
    def _all_cold(self) -> bool:
        """Whether all frames were cold, as for a single photo: the report then shows their figures."""
        return self.metrics.stages.samples["end to end"].count == 0

    @property
    def _latencies(self) -> Mapping[str, Samples]:
        return (self.metrics.cold if self._all_cold else self.metrics.stages).samples

    def as_dict(self) -> dict[str, Any]:
        """All figures, in JSON types."""
        metrics, source = self.metrics, self.source
        return {
            **self.setup,
            "frames": metrics.frames,
            "seconds": round(metrics.seconds, 3),
            "fps": round(metrics.fps, 3),
            "dropped": source.dropped,
            "skipped": source.skipped,
            "reconnects": source.reconnects,
            "latency_ms": {name: samples.summary() for name, samples in self._latencies.items()},
            "latency_is_cold": self._all_cold,
            "cold_latency_ms": {name: s.summary() for name, s in metrics.cold.samples.items()},
            "rss_start_bytes": self.rss[0],
            "rss_end_bytes": self.rss[1],
            "cpu": system.cpu_name(),
            "versions": system.versions(),
            "classes": dict(metrics.classes.most_common()),
        }
