"""What the maps cost on int8 networks: every form of the grafted file against the plain int8 file.

    python -m benchmarks.int8 --rounds 100 --clock cpu --check

Measured as in `benchmarks.overhead`. The networks are quantised here, as by `fastcam quantize`.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastcam_runtime.text import format_table

from .inputs.int8_files import NETWORKS, int8_file
from .inputs.networks import NETWORKS as ALL
from .inputs.networks import SIZE
from .measuring import report
from .measuring.forms import available_forms, make_files
from .measuring.rounds import CLOCKS
from .overhead import measure_forms
from .paths import RESULTS
from .tables import targets


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every network on one thread; saved and returned."""
    RESULTS.mkdir(exist_ok=True)
    runs = []
    for name in NETWORKS:
        with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
            files = make_files(int8_file(name), Path(folder), classes=False, naive=False)
            runs.append(measure_forms(name, files, SIZE, 1, available_forms(files), options))
    result = {
        "config": report.setup(rounds=options.rounds, clock=options.clock),
        "int8": [one.as_dict() for one in runs],
    }
    report.save("int8", result)
    return json.loads(json.dumps(result))  # type: ignore[no-any-return]


def text(result: Mapping[str, Any]) -> str:
    """The table for the terminal."""
    rows = [
        [
            f"{ALL[one['network']].title}, int8",
            f"{one['plain']['median_ms']:.2f}",
            *(f"{cost['percent']:+.1f}" for cost in one["forms"].values()),
        ]
        for one in result["int8"]
    ]
    return format_table(["network", "plain ms", *(f"{form} %" for form in result["int8"][0]["forms"])], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="runs of each form (100)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken")
    options = parser.parse_args(arguments)
    result = run(options)
    found = targets.int8_outcomes(result)
    print(f"\n{text(result)}\n\n{targets.format_outcomes(found)}")
    return int(options.check and any(not outcome.kept for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
