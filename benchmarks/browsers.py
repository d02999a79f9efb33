"""What the maps cost in a headless browser: `fastcam bench --web` on four networks.

    python -m benchmarks.browsers --rounds 40

Needs Chromium and onnxruntime-web, as that command does; without them nothing is measured.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fastcam_export import export
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.text import format_table
from fastcam_runtime.web.browser import find_browser, measure_in_browser
from fastcam_runtime.web.ort_web import find_ort_web

from .inputs.int8_files import NETWORKS, int8_file
from .inputs.modules import plain_file
from .measuring import report
from .paths import RESULTS
from .tables.device_tables import BROWSER_HEAD, browser_row

NAME = "browsers"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.browsers", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="runs of each file (40)")
    options = parser.parse_args(arguments)
    try:
        find_browser()
        find_ort_web()
    except FastcamError as error:
        print(f"not measured: {error}")
        return 0
    config, found = report.setup(rounds=options.rounds, clock="wall"), []
    plain = [(name, kind) for kind in ("float32", "int8") for name in NETWORKS]
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, kind) in enumerate(plain, 1):
            print(f"{number} of {len(plain)}: {name}, {kind}", file=sys.stderr, flush=True)
            file = Path(folder) / "grafted.onnx"
            export(int8_file(name) if kind == "int8" else plain_file(name), file)
            measured = measure_in_browser(file, options.rounds)
            found.append({
                "network": name,
                "int8": kind == "int8",
                "chromium": re.findall(r"Chrome/(\d+)", measured["browser"])[0],
                "onnxruntime_web": measured["onnxruntime_web"],
                "plain_ms": measured["variants"][0]["statistics_ms"]["p50"],
                "difference_ms": measured["difference_ms"],
            })  # fmt: skip
    RESULTS.mkdir(exist_ok=True)
    report.save(NAME, {"config": config, "browsers": found})
    print(format_table(BROWSER_HEAD, [browser_row(one) for one in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
