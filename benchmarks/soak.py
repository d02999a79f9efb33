"""Does memory grow? `python benchmarks/soak.py [--frames N] [--json FILE]`.

The whole loop, with drawing, smoothing and skipped maps, over the built-in clip; the resident memory is read
after every 1,000 pictures. After the first 1,000 it may grow by less than 5 MB.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import fastcam_export
import numpy as np
from fastcam_models import default_model
from fastcam_runtime import Explainer
from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop, LoopOptions
from fastcam_runtime.measure import system
from fastcam_runtime.sinks import Sink, Status
from fastcam_runtime.sources import open_source

MODEL = default_model()
STEP = 1000
LIMIT = 5_000_000


class MemoryWatch(Sink):
    """Reads the resident memory after every `STEP` pictures."""

    def __init__(self) -> None:
        self.pictures = 0
        self.rss: list[int] = []

    def write(self, picture: np.ndarray, status: Status) -> None:
        self.pictures += 1
        if self.pictures % STEP == 0:
            self.rss.append(system.rss_bytes())
            growth = (self.rss[-1] - self.rss[0]) / 1e6
            print(f"{self.pictures:6d} pictures  {self.rss[-1] / 1e6:7.1f} MB  {growth:+.2f} MB", flush=True)


def soak(model: Path, frames: int, every: int, threads: int) -> tuple[list[int], float]:
    """Run the loop; the memory after each step, and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        grafted = Path(folder) / "grafted.onnx"
        fastcam_export.export(model, grafted)
        explainer = Explainer(grafted, threads=threads, outputs=["saliency_map"])
        explainer.model.session([])
    watch = MemoryWatch()
    source = open_source("test://?size=640x480", loop=True)
    options = LoopOptions(every=every, smooth=0.8, frames=frames)
    started = time.monotonic()
    Loop(explainer, source, [watch], Controls(("overlay",)), options=options).run()
    return watch.rss, time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.frames < 2 * STEP:
        parser.error(f"--frames {args.frames}: at least {2 * STEP} are needed to see growth")
    rss, seconds = soak(args.model, args.frames, args.every, args.threads)
    growth = max(rss[1:]) - rss[0]
    print(f"{args.frames} pictures in {seconds:.0f} s: {growth / 1e6:+.2f} MB after the first {STEP}")
    if args.json is not None:
        report = {"frames": args.frames, "rss_bytes": rss, "growth_bytes": growth, "seconds": seconds}
        write_json(args.json, {**report, "cpu": system.cpu_name(), "versions": system.versions()})
    return int(growth >= LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
