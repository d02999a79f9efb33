"""Does memory grow? `python -m benchmarks.endurance.soak [--small] [--frames N] [--json FILE]`.

The whole loop, with drawing, smoothing and skipped maps, over the built-in clip; the resident memory is read
about 200 times, at least 1,000 pictures apart. After the first reading it must grow by less than 5 MB.
`--small` uses a tiny network and small frames, so that a million pictures take minutes, not hours.
The figures so far are written to the file of `--json` at every reading.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import fastcam_export
from fastcam_models import default_model
from fastcam_runtime import Explainer
from fastcam_runtime.cli.output_paths import write_json
from fastcam_runtime.image import Image
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.loop import Loop, LoopOptions
from fastcam_runtime.measure import system
from fastcam_runtime.sinks import Sink, Status
from fastcam_runtime.sources import open_source

from ..inputs.small_network import small_graft

STEP = 1000
READINGS = 200
LIMIT = 5_000_000


class MemoryWatch(Sink):
    """Reads the resident memory after every `step` pictures, prints it, and writes it to `report`."""

    def __init__(self, step: int = STEP, report: Path | None = None) -> None:
        self.pictures = 0
        self.rss: list[int] = []
        self._step = step
        self._report = report
        self._started = time.monotonic()

    @property
    def growth(self) -> int:
        """The peak after the first reading, minus the first reading."""
        return max(self.rss[1:], default=0) - self.rss[0] if len(self.rss) > 1 else 0

    def write(self, picture: Image, status: Status) -> None:
        self.pictures += 1
        if self.pictures % self._step == 0:
            self.rss.append(system.rss_bytes())
            now = self.rss[-1]
            print(
                f"{self.pictures:8d} pictures  {now / 1e6:7.1f} MB  {(now - self.rss[0]) / 1e6:+.2f} MB",
                flush=True,
            )
            self.tell()

    def tell(self) -> None:
        """Write the figures so far."""
        if self._report is not None:
            figures = {
                "frames": self.pictures,
                "step": self._step,
                "rss_bytes": self.rss,
                "growth_bytes": self.growth,
                "seconds": round(time.monotonic() - self._started, 1),
            }
            write_json(self._report, {**figures, "cpu": system.cpu_name(), "versions": system.versions()})


def main() -> int:
    """Run the loop; exit code 1 if memory grew."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--small", action="store_true", help="a tiny network and small frames")
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.frames < 2 * STEP:
        parser.error(f"--frames {args.frames}: at least {2 * STEP} are needed to see growth")
    with tempfile.TemporaryDirectory() as folder:
        grafted = Path(folder) / "grafted.onnx"
        if args.small:
            small_graft(grafted)
        else:
            fastcam_export.export(args.model, grafted)
        explainer = Explainer(grafted, threads=args.threads, outputs=["saliency_map"])
        explainer.model.session([])
        watch = MemoryWatch(max(STEP, args.frames // READINGS), args.json)
        source = open_source("test://?size=64x48" if args.small else "test://?size=640x480", loop=True)
        options = LoopOptions(every=args.every, smooth=0.8, frames=args.frames)
        started = time.monotonic()
        Loop(explainer, source, [watch], Controls(("overlay",)), options=options).run()
        seconds = time.monotonic() - started
    print(
        f"{watch.pictures} pictures in {seconds:.0f} s: {watch.growth / 1e6:+.2f} MB after the first reading"
    )
    watch.tell()
    return int(watch.growth >= LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
