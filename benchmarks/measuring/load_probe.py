"""Time and memory to open and run a file, in a fresh process, as for a real program.

    python -m benchmarks.measuring.load_probe FILE --size 224 [--native] [--cached] [--clock cpu]

In a process that has opened other files, both would depend on memory that was left from these.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fastcam_runtime.model.session import open_cut
from fastcam_runtime.prepared.cache import open_cached

from ..inputs.networks import noise_picture
from ..paths import ROOT
from .process_memory import memory_bytes, peak_bytes, reset_peak
from .rounds import CLOCKS

RUNS = 3


def probe(path: Path, size: int, *, native: bool, clock: str, cache: Path | None = None) -> dict[str, float]:
    """Open and run a file; with `cache`, as by default, from a cache in this folder.

    Returns:
        `load_ms`; `peak_bytes` and, after some runs, `held_bytes`, relative to the fresh process.
    """
    command = [
        sys.executable,
        "-m",
        "benchmarks.measuring.load_probe",
        str(path),
        "--size",
        str(size),
        "--clock",
        clock,
    ]
    done = subprocess.run(
        [*command, *(["--native"] if native else []), *(["--cached"] if cache else [])],
        env={**os.environ, **({"XDG_CACHE_HOME": str(cache)} if cache else {})},
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.measuring.load_probe", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--cached", action="store_true", help="as `fastcam run` opens it")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args(arguments)
    now = CLOCKS[options.clock]
    picture = noise_picture(options.size)
    before = memory_bytes()
    reset_peak()
    started = now()
    opener = open_cached if options.cached else open_cut
    session = opener(options.path, threads=1, provider="cpu", compiled=options.native)
    load_ms = 1e3 * (now() - started)
    for _ in range(RUNS):
        session.run(None, {session.get_inputs()[0].name: picture})
    held = memory_bytes() - before
    peak = peak_bytes() - before  # second: reading the first may itself take a page
    print(json.dumps({"load_ms": load_ms, "peak_bytes": peak, "held_bytes": held}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
