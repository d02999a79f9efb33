"""The figures of a running loop in the text format of Prometheus, without paths, names or labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..measure import system, thermal
from .metrics import BUCKETS, LoopMetrics, Samples

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(metrics: LoopMetrics) -> str:
    """All metrics with their descriptions, as `/metrics` of the live page gives them."""
    return "".join(_families(metrics))


def _families(metrics: LoopMetrics) -> Iterator[str]:
    cold = metrics.cold.samples["end to end"].count
    yield _family("fastcam_frames_total", "counter", "Frames that were explained.", {"": metrics.frames})
    yield _family("fastcam_cold_frames_total", "counter", "Cold frames: not in the latencies.", {"": cold})
    yield _family(
        "fastcam_dropped_frames_total", "counter", "Frames replaced by a newer one.", {"": metrics.dropped}
    )
    yield _family(
        "fastcam_skipped_frames_total", "counter", "Frames that could not be decoded.", {"": metrics.skipped}
    )
    yield _family(
        "fastcam_reconnects_total",
        "counter",
        "How often a camera was reopened.",
        {"": metrics.reconnects},
    )
    if metrics.recent_fps is not None:
        rate = 0.0 if metrics.silent_seconds else metrics.recent_fps
        yield _family("fastcam_frames_per_second", "gauge", "Recent frame rate.", {"": rate})
    if metrics.age is not None:
        yield _family("fastcam_last_frame_age_seconds", "gauge", "Since the last frame.", {"": metrics.age})
    yield _histogram(
        "fastcam_latency_seconds", "Latency by stage; end_to_end is work and waiting.", metrics.stages.samples
    )
    yield _family(
        "process_resident_memory_bytes", "gauge", "Resident memory in bytes.", {"": system.rss_bytes()}
    )
    degrees = {f'{{sensor="{_escaped(name)}"}}': value for name, value in thermal.temperatures().items()}
    if degrees:
        yield _family("fastcam_temperature_celsius", "gauge", "Temperature of the device.", degrees)
    slowed = thermal.throttled()
    if slowed is not None:
        yield _family(
            "fastcam_throttled", "gauge", "1 while heat or weak power slows the device.", {"": int(slowed)}
        )


def _family(name: str, kind: str, text: str, values: Mapping[str, float]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    return "\n".join([*lines, *(f"{name}{labels} {value:.10g}" for labels, value in values.items())]) + "\n"


def _histogram(name: str, text: str, stages: Mapping[str, Samples]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} histogram"]
    for stage, samples in stages.items():
        label = f'stage="{stage.replace(" ", "_")}"'
        buckets, count = list(samples.buckets), 0
        for bound, inside in zip((*(b / 1e3 for b in BUCKETS), "+Inf"), buckets, strict=True):
            count += inside
            lines.append(f'{name}_bucket{{{label},le="{bound}"}} {count}')
        lines += [f"{name}_sum{{{label}}} {samples.sum / 1e3:.10g}", f"{name}_count{{{label}}} {count}"]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
