"""A process that runs mutated files through the commands of `fastcam`, and reports each run.

It reads lines `KIND NUMBER` and answers in lines of JSON: one when a command begins, one when it has ended.
The same kind and number make the same file.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import onnx
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import METADATA_KEY

from . import seeds
from .mutate import mutate_json, mutate_model

KINDS = ("models", "metadata")
MODEL, OUT = "model.onnx", "out.onnx"
EXPECTED = ("fastcam: ", "note: ")
"""How each line on standard error begins."""


def make(kind: str, number: int) -> bytes:
    """The file of this number."""
    random = Random(f"{kind} {number}")
    if kind == "models":
        source = seeds.plain_models() if random.random() < 0.7 else seeds.grafted_models()
        return mutate_model(random.choice(source), random)
    model = onnx.load_from_string(random.choice(seeds.grafted_models()))
    for entry in model.metadata_props:
        if entry.key == METADATA_KEY:
            entry.value = mutate_json(entry.value, random)
    return model.SerializeToString()


def commands(folder: Path, number: int) -> Iterator[list[str]]:
    """The commands for the file in a folder; what can be exported is run and measured as exported."""
    model, out = folder / MODEL, folder / OUT
    # Every second one with class maps, which need a gradient through the last layers.
    yield ["export", str(model), str(out), *(["--outputs", "all"] if number % 2 else [])]
    yield ["inspect", str(model)]
    made = out if out.exists() else model
    yield ["run", str(made), "test://?frames=2&size=64x48", "null://", "--threads", "1"]
    yield ["bench", str(made), "--rounds", "6", "--threads", "1"]


def run(command: list[str], log: Path) -> dict[str, Any]:
    """Run one command in this process, with its output in `log`, and return what went wrong."""
    trouble = ""
    kept = [os.dup(number) for number in (1, 2)]
    with log.open("wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    _reset_peak()
    started = time.monotonic()
    try:
        code: Any = main(command)
    except SystemExit as end:
        code = end.code
    except BaseException:
        trouble, code = f"traceback: {traceback.format_exc()[-1500:]}", 1
    seconds = time.monotonic() - started
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number, copy in zip((1, 2), kept, strict=True):
        os.dup2(copy, number)
        os.close(copy)
    said = log.read_text(errors="replace")
    return {
        "end": command[0],
        "code": code,
        "seconds": seconds,
        "rss": _peak(),
        "trouble": trouble or complaint(code, said),
    }


def complaint(code: Any, said: str) -> str:
    """What went wrong with a command; empty if nothing did."""
    if "Traceback" in said or "please report" in said:
        return f"traceback: {said[-800:]}"
    if code not in (0, 2):
        return f"exit code {code}: {said[-300:]}"
    lines = said.splitlines()
    if code == 2 and not all(line.startswith(EXPECTED) for line in lines):
        return f"more than one line: {said[:500]}"
    if code == 2 and sum(line.startswith("fastcam: error: ") for line in lines) != 1:
        return f"not one error: {said[:500]}"
    return "" if all(c.isprintable() or c == "\n" for c in said) else f"control characters: {said[:500]!r}"


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def serve(folder: Path) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    seeds.plain_models()
    seeds.grafted_models()
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        kind, number = line.split()
        case = folder / "case"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir()
        (case / MODEL).write_bytes(make(kind, int(number)))
        for command in commands(case, int(number)):
            print(json.dumps({"begin": command[0]}), file=answers)
            print(json.dumps(run(command, folder / "log")), file=answers)
        left = sorted(path.name for path in case.iterdir() if path.name not in (MODEL, OUT))
        print(json.dumps({"done": True, "partial": left}), file=answers)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
