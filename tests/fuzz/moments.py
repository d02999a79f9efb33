"""`python -m fuzz.moments`: SIGTERM and SIGINT at random moments of every command, its imports too.

Each process has to end within three seconds, without a traceback and without files left behind.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import fastcam_models
import onnx
from fastcam_export import graft
from support.networks import small_cnn
from support.processes import fastcam

SECONDS = 3.0
"""How long a command may go on after the signal."""
LONGEST = 10.0
"""Seconds from the start within which a signal comes; what takes longer has done everything by then."""
PYTHON = "Ctrl-C while Python itself starts, before any line of fastcam"
"""Python prints a traceback then, and no program in Python can change that."""
_LOUD = ("Traceback", "Exception ignored", "Fatal Python error", "terminate called", "Error in sys")


def commands(folder: Path) -> list[list[str]]:
    """Every kind of command, on files in a folder; some would go on for ever."""
    plain, grafted = folder / "plain.onnx", folder / "grafted.onnx"
    if not plain.exists():
        onnx.save(small_cnn(), plain)
        onnx.save(graft(small_cnn()), grafted)
        for number, picture in enumerate(Random(1).randbytes(64 * 64 * 3) for _ in range(8)):
            (folder / f"{number}.ppm").write_bytes(b"P6 64 64 255\n" + picture)
        (folder / ".video.1.part.mkv").write_bytes(b"no video")
    large, out = str(fastcam_models.default_model()), str(folder / "out.onnx")
    pictures = str(folder / "*.ppm")
    return [
        ["export", large, out],
        ["export", str(plain), out, "--outputs", "all"],
        ["inspect", large],
        ["inspect", str(grafted)],
        ["run", str(grafted), "test://", "null://", "--loop"],
        ["run", str(grafted), "test://", "http://:0", "--loop"],
        ["bench", str(grafted), "--rounds", "100000"],
        ["tune", str(plain), "--budget", "5%", "--rounds", "100000", "--out", out],
        ["check", str(plain), str(folder / "0.ppm")],
        ["quantize", str(plain), out, "--pictures", pictures, "--rounds", "100000"],
        ["evaluate", str(plain), pictures],
        ["web", str(grafted), "--serve", "--address", "127.0.0.1:0"],
        ["web", str(grafted), str(folder / "site")],
        ["cache", "list"],
        ["recover", str(folder / ".video.1.part.mkv")],
        ["completion", "bash"],
        ["demo", "--out", str(folder / "demo")],
        ["--help"],
    ]


def try_once(command: list[str], number: int, delay: float, folder: Path) -> str:
    """Start a command, send it the signal after `delay` seconds; returns what was wrong, or nothing."""
    with fastcam(*command, environment={"XDG_CACHE_HOME": str(folder / "cache")}) as process:
        time.sleep(delay)
        process.send_signal(number)
        sent = time.monotonic()
        try:
            _, errors = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            return "did not end within 30 s"
        seconds = time.monotonic() - sent
    loud = [word for word in _LOUD if word in errors]
    if loud and "fastcam_runtime" not in errors.replace("_fastcam_runtime", ""):
        return PYTHON
    if loud:
        return f"said {errors[-1500:]}"
    if process.returncode not in (0, 2, 130, 128 + number, -number):
        return f"ended with {process.returncode}: {errors[-300:]}"
    left = [path.name for path in folder.glob(".fastcam-*")]
    if left:
        return f"left {', '.join(left)}"
    return f"took {seconds:.1f} s" if seconds > SECONDS else ""


def main() -> int:
    """Run as many moments as asked and print the figures; the exit code is 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.moments", description=__doc__)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random, wrong, ends = Random(args.seed), 0, Counter[str]()
    with tempfile.TemporaryDirectory(prefix="fastcam-moments-") as name:
        folder = Path(name)
        kinds = commands(folder)
        for moment in range(args.moments):
            command, number = kinds[moment % len(kinds)], random.choice((signal.SIGINT, signal.SIGTERM))
            delay = random.uniform(0.0, LONGEST)
            what = try_once(command, number, delay, folder)
            ends["bad" if what else "good"] += 1
            if what == PYTHON:
                ends[PYTHON] += 1
            elif what:
                wrong += 1
                print(f"{command[0]} {number.name} at {delay:.3f} s: {what}", flush=True)
            if moment % 20 == 19:
                print(f"{moment + 1} moments, {wrong} wrong", flush=True)
    print(f"{args.moments} moments: {ends['good']} good, {wrong} wrong; {ends[PYTHON]} times {PYTHON}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
