"""Time and memory of a graft: `fastcam export` of a file in its own process.

    python -m benchmarks.graft --check

Memory is what the process holds at its peak beyond what it held once everything was imported, in multiples of
the file's size. The time is given twice: of the whole command, and of the graft without Python and imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fastcam_runtime.text import format_table

from .inputs.modules import plain_file
from .inputs.networks import NETWORKS, check_name
from .measuring import report
from .paths import RESULTS, ROOT

TIME_LIMIT_S = 10.0
MEMORY_LIMIT = 3.0
"""Multiples of the file's size."""
LIMITED = "resnet50"

_PROBE = """
import json, sys, time
from benchmarks.measuring.process_memory import memory_bytes, peak_bytes, reset_peak
import onnx, onnx_ir, onnxruntime, cv2, fastcam_export.cli.main, fastcam_runtime.cli.main
sys.argv[0] = "fastcam"
before = memory_bytes()
reset_peak()
started = time.perf_counter(), time.process_time()
code = fastcam_runtime.cli.main.main(sys.argv[1:])
spent = time.perf_counter() - started[0], time.process_time() - started[1]
print(json.dumps({"seconds": spent[0], "cpu_seconds": spent[1], "peak_bytes": peak_bytes() - before}))
sys.exit(code)
"""


def graft_once(plain: Path, target: Path) -> dict[str, float]:
    """Export `plain` to `target` in a fresh process."""
    command = [sys.executable, "-c", _PROBE, "export", str(plain), str(target)]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    whole = time.perf_counter() - started
    measured: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return {**measured, "command_seconds": whole}


def measure_graft(name: str, repeats: int) -> dict[str, Any]:
    """Medians over several grafts of one network."""
    plain = plain_file(name)
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        runs = [graft_once(plain, Path(folder) / "grafted.onnx") for _ in range(repeats)]
    size = plain.stat().st_size
    medians = {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
    return {"network": name, "file_bytes": size, **medians, "peak_of_file": medians["peak_bytes"] / size}


def text(grafts: Sequence[dict[str, Any]]) -> str:
    """The table for the terminal."""
    head = ["network", "file MB", "command s", "graft s", "of it CPU s", "peak MB", "peak / file"]
    rows = [
        [NETWORKS[one["network"]].title, f"{one['file_bytes'] / 1e6:.1f}",
         *(f"{one[key]:.2f}" for key in ("command_seconds", "seconds", "cpu_seconds")),
         f"{one['peak_bytes'] / 1e6:.1f}", f"{one['peak_of_file']:.2f}×"]
        for one in grafts
    ]  # fmt: skip
    return format_table(head, rows)


def missed(grafts: Sequence[dict[str, Any]]) -> list[str]:
    """The broken promises about ResNet-50, in words."""
    words = []
    for one in grafts:
        if one["network"] != LIMITED:
            continue
        if one["command_seconds"] >= TIME_LIMIT_S:
            words.append(f"{one['command_seconds']:.1f} s, not under {TIME_LIMIT_S:.0f} s")
        if one["peak_of_file"] >= MEMORY_LIMIT:
            words.append(f"{one['peak_of_file']:.2f}× the file's size, not under {MEMORY_LIMIT:.0f}×")
    return words


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.graft", description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", default="resnet50,mobilenet_v2,vgg16", metavar="A,B")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="grafts of each (5)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken")
    options = parser.parse_args(arguments)
    RESULTS.mkdir(exist_ok=True)
    config = report.setup(("onnx", "onnx-ir"), rounds=options.repeats, clock="wall")
    grafts = [measure_graft(check_name(name), options.repeats) for name in options.networks.split(",")]
    report.save("graft", {"config": config, "grafts": grafts})
    print(f"{report.describe(config)}\n\n{text(grafts)}")
    broken = missed(grafts)
    for words in broken:
        print(f"MISSED: {NETWORKS[LIMITED].title} {words}")
    return int(options.check and bool(broken))


if __name__ == "__main__":
    sys.exit(main())
