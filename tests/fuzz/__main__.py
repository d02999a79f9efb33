"""`python -m fuzz`: mutated models and metadata through export, inspect, run and bench; see `make fuzz`."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

from .pool import TROUBLES, run_cases


def main() -> int:
    """Run the requested number of cases; the exit code is 1 if there was a failure."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--models", type=int, default=2_000, help="mutated models (2000)")
    parser.add_argument("--metadata", type=int, default=500, help="models with mutated metadata (500)")
    parser.add_argument("--start", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (1)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy the files that make trouble there")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True, exist_ok=True)
    models = [("models", args.start + number) for number in range(args.models)]
    metadata = [("metadata", args.start + number) for number in range(args.metadata)]
    mixed = [case for pair in itertools.zip_longest(models, metadata) for case in pair if case is not None]
    started = time.monotonic()
    figures = run_cases(mixed, args.jobs, args.keep)
    print(f"{figures}; {time.monotonic() - started:.0f} s")
    return int(any(figures.counts[kind] for kind in TROUBLES))


if __name__ == "__main__":
    sys.exit(main())
