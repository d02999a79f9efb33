"""All benchmarks, one after the other, each in its own process: `make bench`.

    python -m benchmarks [--quick] [--clock cpu] [--accept]

Prints the tables, saves JSON and a plot in benchmarks/results, and exits with 1 if a promise is broken.
`--accept` makes the figures the committed reference, and writes docs/costs.md and the README from it.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
from collections.abc import Mapping, Sequence

from fastcam_runtime.text import format_table

from .measuring.rounds import CLOCKS
from .measuring.running import Remaining, Stopped, run, stopped_by_signals
from .paths import RESULTS

PARTS = {
    "overhead": ["--check"],
    "int8": ["--check"],
    "options": [],
    "arm.instructions": ["--check"],
    "browsers": [],
    "graft": ["--check"],
    "gradcam_agreement": ["--check"],
    "loop": ["--json", str(RESULTS / "loop.json")],
    "peers": [],
}
"""The modules and their options, in the order in which they are run."""
QUICK = {
    "overhead": ["--rounds", "10", "--loads", "3", "--sizes", "160,320", "--threads", "1",
                 "--networks", "resnet50,mobilenet_v2,efficientnet_lite0"],
    "int8": ["--rounds", "10"],
    "options": ["--rounds", "10"],
    "graft": ["--repeats", "1", "--networks", "resnet50,mobilenet_v2"],
    "gradcam_agreement": ["--pictures", "2", "--networks", "resnet18,mobilenet_v2,squeezenet1_1"],
    "loop": ["--blocks", "3"],
    "peers": ["--rounds", "3", "--networks", "mobilenet_v2"],
}  # fmt: skip
"""What a quick run adds; the emulated board and the browser are not in it."""
MINUTES = {
    "overhead": (45, 3.0),
    "int8": (6, 1.0),
    "options": (3, 1.0),
    "arm.instructions": (5, 0.0),
    "browsers": (3, 0.0),
    "graft": (3, 0.5),
    "gradcam_agreement": (4, 0.5),
    "loop": (4, 1.0),
    "peers": (25, 2.0),
}
"""Usual minutes of each part on two cores of a server, of a whole and of a quick run."""
TIMED = ("overhead", "int8", "peers")
"""The benchmarks with a choice of clock."""


def commands(*, quick: bool, clock: str) -> dict[str, list[str]]:
    """The options of each part."""
    return {
        part: options + (QUICK[part] if quick else []) + (["--clock", clock] if part in TIMED else [])
        for part, options in PARTS.items()
        if not quick or part in QUICK
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
    try:
        with stopped_by_signals():
            broken = run_parts(commands(quick=options.quick, clock=options.clock), quick=options.quick)
            for part in ("plot", *(["costs"] if options.accept else [])):
                arguments = ["--accept"] if part == "costs" else []
                subprocess.run([sys.executable, "-m", f"{__package__}.{part}", *arguments], check=True)
    except Stopped as error:
        print(f"\nstopped by {error}; what was measured is in {RESULTS}", flush=True)
        return 130
    if broken:
        print(f"\nbroken promises, or failures: see {', '.join(broken)} above")
    return int(bool(broken))


def run_parts(parts: Mapping[str, Sequence[str]], *, quick: bool) -> list[str]:
    """Run the parts and tell time and memory of each; those that failed."""
    remaining = Remaining({part: MINUTES[part][quick] for part in parts})
    broken, rows = [], []
    for number, (part, arguments) in enumerate(parts.items(), start=1):
        head = f"=== {number} of {len(parts)}: {part} {' '.join(arguments)}"
        print(f"\n{head} ({remaining.text(part)})", flush=True)
        ended = run(
            [sys.executable, "-m", f"{__package__}.{part}", *arguments],
            functools.partial(_tell, remaining, part),
        )
        remaining.finish(part, ended.seconds)
        rows.append([part, f"{ended.seconds / 60:.1f}", f"{ended.peak_bytes / 1e9:.2f}"])
        if ended.code:
            broken.append(part)
    print(f"\n{format_table(['part', 'minutes', 'peak GB'], rows)}", flush=True)
    return broken


def _tell(remaining: Remaining, part: str, seconds: float) -> None:
    print(f"... {part}: {seconds / 60:.1f} min so far, {remaining.text(part, seconds)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
