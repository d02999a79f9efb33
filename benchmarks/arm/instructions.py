"""What the maps cost on an emulated Cortex-A76, in instructions per frame: for regressions, not for claims.

    python -m benchmarks.arm.instructions [--check] [--accept]

The real aarch64 packages run under qemu-user, whose plugin counts. Instructions are not time: they say
nothing about caches, slow divisions or the clock. Needs the tools of `.ci/arm-board`, gcc, and Debian's
qemu-user; without them nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastcam_export import export
from fastcam_runtime.text import format_table

from ..inputs.int8_files import NETWORKS, int8_file
from ..inputs.modules import plain_file
from ..inputs.networks import SIZE
from ..measuring import report
from ..paths import REFERENCE, RESULTS, ROOT
from ..tables import targets

logger = logging.getLogger(__name__)

BOARD = ROOT / ".ci/arm-board"
COUNTED = REFERENCE / "instructions.json"
PLUGIN = Path(__file__).with_name("count_instructions.c")
TOOLS = ("debootstrap", "proot", "qemu-aarch64", "qemu-aarch64-static", "gcc", "aarch64-linux-gnu-gcc")
RUNS = 2
"""Counted runs of each form, after one warm-up run."""
PROGRAM = f"""
import os, sys
from pathlib import Path
import numpy as np
from fastcam_runtime.model.session import open_session
from fastcam_runtime.prepared.cache import open_cached
picture = np.random.default_rng(0).standard_normal((1, 3, {SIZE}, {SIZE})).astype(np.float32)
for word in sys.argv[1:]:
    form, path = word.split("=", 1)
    opener = open_cached if form == "default" else open_session
    session = opener(Path(path), threads=1, provider="cpu", compiled=form in ("native", "default"))
    feed = {{session.get_inputs()[0].name: picture}}
    session.run(None, feed)
    os.getsid(0)
    for _ in range({RUNS}):
        session.run(None, feed)
    os.getsid(0)
"""
"""Runs every form; the plugin prints its count at each call of getsid."""


def missing_tools() -> list[str]:
    """The missing programs; nothing can be measured without them."""
    path = os.environ["PATH"] + ":/usr/sbin"
    return [tool for tool in TOOLS if shutil.which(tool, path=path) is None]


def install_wheel(wheel: Path | None, folder: Path) -> None:
    """Install our aarch64 wheel on the board, created if necessary; None builds a wheel in `folder`."""
    if wheel is None:
        environment = {**os.environ, "PYTHON": sys.executable}
        subprocess.run([ROOT / ".ci/wheels", folder], check=True, env=environment, stdout=subprocess.DEVNULL)
        (wheel,) = folder.glob("*_aarch64.whl")
    subprocess.run([BOARD, "install", wheel], check=True)


def count(files: Mapping[str, Path], plugin: Path) -> dict[str, float]:
    """Instructions per frame of each form, in one process on the board."""
    words = [f"{form}={path}" for form, path in files.items()]
    environment = {**os.environ, "FASTCAM_QEMU": f"qemu-aarch64 -plugin {plugin}"}
    for attempt in (1, 2):  # qemu itself may crash
        done = subprocess.run(
            [BOARD, "python3", "-c", PROGRAM, *words], env=environment, capture_output=True, text=True
        )
        marks = [int(number) for number in re.findall(r"^instructions (\d+)$", done.stderr, re.MULTILINE)]
        if done.returncode == 0 and len(marks) == 2 * len(files):
            pairs = zip(marks[::2], marks[1::2], strict=True)
            return {form: (end - start) / RUNS for form, (start, end) in zip(files, pairs, strict=True)}
        logger.warning("attempt %d on the board failed: %s", attempt, done.stderr[-300:])
    raise RuntimeError("the emulated board does not run the networks")


def measure(wheel: Path | None = None) -> dict[str, Any]:
    """The instructions of every network, and what each form adds in percent; saved."""
    RESULTS.mkdir(exist_ok=True)
    networks: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="fastcam-arm-") as name:
        folder = Path(name)
        plugin = folder / "count.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", plugin, PLUGIN], check=True)
        install_wheel(wheel, folder)
        for network in NETWORKS:
            for title, plain in ((network, plain_file(network)), (f"{network}-int8", int8_file(network))):
                own = Path(shutil.copy(plain, folder / f"{title}-plain.onnx"))
                grafted = folder / f"{title}.onnx"
                export(own, grafted)
                forms = {"plain": own, "standard": grafted, "native": grafted, "default": grafted}
                networks[title] = _costs(count(forms, plugin))
                logger.info("%s: %s", title, networks[title])
    result = {"config": report.setup(), "networks": networks}
    report.save("instructions", result)
    return result


def _costs(counted: Mapping[str, float]) -> dict[str, Any]:
    plain = counted["plain"]
    return {
        "plain": plain,
        "forms": {
            form: {"instructions": value, "percent": 100 * (value - plain) / plain}
            for form, value in counted.items()
            if form != "plain"
        },
    }


def text(result: Mapping[str, Any]) -> str:
    """The table for the terminal."""
    rows = [
        [name, f"{one['plain'] / 1e6:.1f} M", *(f"{f['percent']:+.2f} %" for f in one["forms"].values())]
        for name, one in result["networks"].items()
    ]
    forms = next(iter(result["networks"].values()))["forms"]
    return format_table(["instructions per frame", "plain", *forms], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="our aarch64 wheel (built by default)")
    parser.add_argument("--accept", action="store_true", help="make the result the reference")
    options = parser.parse_args(arguments)
    if missing := missing_tools():
        print(f"not measured: no {', '.join(missing)} here")
        return 0
    result = measure(options.wheel)
    before = json.loads(COUNTED.read_text()) if COUNTED.exists() else {"networks": {}}
    found = targets.instruction_outcomes(result, before)
    print(f"\n{text(result)}\n\n{targets.format_outcomes(found)}")
    if options.accept:
        shutil.copyfile(RESULTS / "instructions.json", COUNTED)
    return int(options.check and any(not outcome.kept for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
