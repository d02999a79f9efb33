"""All benchmarks, one after the other, each in its own process: `make bench`.

    python -m benchmarks [--quick] [--clock cpu] [--accept]

Prints the tables, saves JSON and a plot in benchmarks/results, and exits with 1 if a promise is broken.
`--accept` makes the figures the committed reference, and writes docs/costs.md and the README from it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from .networks import RESULTS
from .rounds import CLOCKS

PARTS = {
    "overhead": ["--check"],
    "int8": ["--check"],
    "arm.instructions": ["--check"],
    "graft": ["--check"],
    "gradcam_agreement": ["--check"],
    "loop": ["--json", str(RESULTS / "loop.json")],
    "peers": [],
}
"""The modules and their options, in the order in which they are run."""
QUICK = {
    "overhead": ["--rounds", "10", "--loads", "3", "--sizes", "160,320"],
    "int8": ["--rounds", "10"],
    "arm.instructions": [],
    "graft": ["--repeats", "1"],
    "gradcam_agreement": ["--pictures", "2"],
    "loop": ["--blocks", "3"],
    "peers": ["--rounds", "3"],
}
TIMED = ("overhead", "int8", "peers")
"""The benchmarks with a choice of clock."""


def commands(*, quick: bool, clock: str) -> dict[str, list[str]]:
    """The options of each part."""
    return {
        part: options + (QUICK[part] if quick else []) + (["--clock", clock] if part in TIMED else [])
        for part, options in PARTS.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds: a trial run, not for publication")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine")
    parser.add_argument("--accept", action="store_true", help="write the figures into the documents")
    options = parser.parse_args()
    if options.accept and options.quick:
        parser.error("--quick results cannot be accepted: --accept needs a full run")
    RESULTS.mkdir(exist_ok=True)
    for part in PARTS:
        name = part.rpartition(".")[2]
        (RESULTS / f"{name}.json").unlink(missing_ok=True)  # do not mix in results of an earlier run
    broken = []
    for part, arguments in commands(quick=options.quick, clock=options.clock).items():
        print(f"\n=== {part} {' '.join(arguments)}", flush=True)
        if subprocess.run(
            [sys.executable, "-m", f"{__package__}.{part}", *arguments], check=False
        ).returncode:
            broken.append(part)
    for part in ("plot", *(["costs"] if options.accept else [])):
        arguments = ["--accept"] if part == "costs" else []
        subprocess.run([sys.executable, "-m", f"{__package__}.{part}", *arguments], check=True)
    if broken:
        print(f"\nbroken promises, or failures: see {', '.join(broken)} above")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
