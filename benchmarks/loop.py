"""What the loop costs on top of the network: `python benchmarks/loop.py [--threads N …] [--json FILE]`.

The shipped model, grafted, explains 640×480 frames of the built-in clip, and every picture is drawn with its
caption. Blocks of the whole loop alternate with blocks of the bare network in the same session, so that both
run under the same conditions. The overhead is time per picture / time per inference − 1, per pair of blocks.
The overhead in CPU time is printed too: it includes the work of the other threads.

A frame of the clip costs almost nothing, like a raw frame from a camera's driver. Decoding a video or a JPEG
stream comes on top, in the reading thread.

Reading and drawing overlap with the network if it leaves a core free. If the network uses all cores, they
take time from it. Both cases are measured and compared with the limit.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import fastcam_export
import numpy as np
from fastcam_models import default_model
from fastcam_runtime import Explainer
from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop, LoopOptions
from fastcam_runtime.live.metrics import STAGES
from fastcam_runtime.measure import system
from fastcam_runtime.model.session import count_threads
from fastcam_runtime.sinks import Sink, Status
from fastcam_runtime.sources import open_source
from fastcam_runtime.text import format_table

MODEL = default_model()
LIMIT = 0.15


def now() -> tuple[float, float]:
    """Seconds of wall time and of CPU time."""
    return time.perf_counter(), time.process_time()


def per_frame(start: tuple[float, float], end: tuple[float, float], frames: int) -> tuple[float, float]:
    """Milliseconds of wall time and of CPU time."""
    return 1e3 * (end[0] - start[0]) / frames, 1e3 * (end[1] - start[1]) / frames


class Clock(Sink):
    """Keeps the time of every picture."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []

    def write(self, picture: np.ndarray, status: Status) -> None:
        self.times.append(now())


def loop_block(explainer: Explainer, frames: int) -> tuple[tuple[float, float], Loop]:
    """Milliseconds per picture of the whole loop; the first pictures fill the queues and do not count."""
    clock = Clock()
    source = open_source("test://?size=640x480", loop=True)
    loop = Loop(explainer, source, [clock], Controls(("overlay",)), options=LoopOptions(frames=frames + 5))
    loop.run()
    return per_frame(clock.times[4], clock.times[-1], len(clock.times) - 5), loop


def network_block(explainer: Explainer, frames: int) -> tuple[float, float]:
    """Milliseconds per inference of the network alone."""
    session = explainer.model.session(["saliency_map"])
    image = explainer.metadata.image
    feed = {image.name: np.random.default_rng(0).random((1, 3, image.height, image.width), np.float32)}
    session.run(None, feed)
    started = now()
    for _ in range(frames):
        session.run(None, feed)
    return per_frame(started, now(), frames)


def measure(model: Path, threads: int, blocks: int, frames: int) -> dict[str, Any]:
    """Alternate the two kinds of blocks; everything that was measured, in plain types."""
    with tempfile.TemporaryDirectory() as folder:
        grafted = Path(folder) / "grafted.onnx"
        fastcam_export.export(model, grafted)
        explainer = Explainer(grafted, threads=threads, outputs=["saliency_map"])
    loop_block(explainer, frames)
    pairs = []
    stages = []
    for _ in range(blocks):
        bare = network_block(explainer, frames)
        whole, loop = loop_block(explainer, frames)
        pairs.append((bare, whole))
        stages.append({name: loop.metrics.stages.samples[name].percentile(50) for name in STAGES})
    ratios, work = ([whole[k] / bare[k] - 1 for bare, whole in pairs] for k in (0, 1))
    return {
        "model": model.name,
        "threads": threads,
        "cpu": system.cpu_name(),
        "versions": system.versions(),
        "frames_per_block": frames,
        "network_ms": [bare[0] for bare, _ in pairs],
        "loop_ms": [whole[0] for _, whole in pairs],
        "overhead_processor_time": float(np.median(work)),
        "overhead": float(np.median(ratios)),
        "overhead_quartiles": [float(np.percentile(ratios, q)) for q in (25, 75)],
        "stages_p50_ms": {name: float(np.median([stage[name] for stage in stages])) for name in STAGES},
    }


def tell(report: dict[str, Any]) -> str:
    """The report in words."""
    stages = report["stages_p50_ms"]
    low, high = report["overhead_quartiles"]
    return "\n".join([
        f"{report['cpu']}, {count_threads(report['threads'])} of {report['cores']} cores, {report['model']}, "
        "640×480 frames",
        format_table(["stage", "p50 ms"], [[name, f"{stages[name]:.2f}"] for name in STAGES[:-1]]),
        f"network alone {np.median(report['network_ms']):.2f} ms, loop {np.median(report['loop_ms']):.2f} ms "
        f"per picture: overhead {report['overhead']:+.1%} (quartiles {low:+.1%} … {high:+.1%}; "
        f"limit {LIMIT:.0%}{'' if report['threads'] < report['cores'] else ', no core left for the rest'}), "
        f"in processor time {report['overhead_processor_time']:+.1%}",
    ])  # fmt: skip


def main() -> int:
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=sorted({max(1, cores - 1), cores}),
        help="all cores, and one less",
    )
    parser.add_argument("--blocks", type=int, default=31)
    parser.add_argument("--frames", type=int, default=60, help="per block")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    cv2.setNumThreads(1)  # as `fastcam run` does
    reports = [
        {"cores": cores, **measure(args.model, threads, args.blocks, args.frames)} for threads in args.threads
    ]
    print("\n\n".join(map(tell, reports)))
    if args.json is not None:
        write_json(args.json, {"runs": reports})
    return int(any(report["overhead"] > LIMIT for report in reports))


if __name__ == "__main__":
    raise SystemExit(main())
