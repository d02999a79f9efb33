"""What a session on a file takes in memory, in a process of its own.

    python -m benchmarks.memory_probe FILE --size 224 [--native]

Prints the bytes above what the process held before it opened the file: at the peak, and after some runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fastcam_runtime.session import open_session

from .networks import noise_picture
from .process_memory import memory_bytes, peak_bytes, reset_peak

RUNS = 3


def probe(path: Path, size: int, *, native: bool) -> dict[str, int]:
    """`peak_bytes` and `held_bytes` of a fresh process that loads the file and runs it on one thread."""
    command = [sys.executable, "-m", "benchmarks.memory_probe", str(path), "--size", str(size)]
    done = subprocess.run(
        [*command, *(["--native"] if native else [])],
        cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    measured: dict[str, int] = json.loads(done.stdout)
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.memory_probe", description=__doc__.partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--native", action="store_true")
    options = parser.parse_args(arguments)
    picture = noise_picture(options.size)
    before = memory_bytes()
    reset_peak()
    session = open_session(options.path, threads=1, provider="cpu", native=options.native)
    for _ in range(RUNS):
        session.run(None, {session.get_inputs()[0].name: picture})
    print(json.dumps({"peak_bytes": peak_bytes() - before, "held_bytes": memory_bytes() - before}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
