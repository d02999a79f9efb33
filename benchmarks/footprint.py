"""What a graft costs beside time per frame: bytes on disk, time to load, memory.

Run as a script it is the probe: it loads one file in a process of its own and prints what that took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fastcam_runtime.session import open_session

from .forms import PLAIN, Files, Form, available_forms, open_form, runner
from .process_memory import memory_bytes, peak_bytes, reset_peak
from .rounds import Contender, difference, measure, summary

PROBE_RUNS = 3
_WARM_UP_LOADS = 2


def footprint(files: Files, size: int, *, loads: int, clock: str) -> dict[str, Any]:
    """Load time, file size and memory of the plain file and of each form of `saliency_map`."""
    forms = [form for form in available_forms(classes=False) if form.name != "naive"]
    load_times = _load_times(files, [PLAIN, *forms], loads, clock)
    memory = {form.name: _probe(getattr(files, form.file), size, form.native) for form in (PLAIN, *forms)}
    plain_bytes = files.plain.stat().st_size
    return {
        "file_bytes": plain_bytes,
        "load": summary(load_times[PLAIN.name]),
        "memory": memory[PLAIN.name],
        "forms": {
            form.name: {
                "file_growth_bytes": getattr(files, form.file).stat().st_size - plain_bytes,
                "load": difference(load_times[PLAIN.name], load_times[form.name]),
                "extra_peak_bytes": memory[form.name]["peak_bytes"] - memory[PLAIN.name]["peak_bytes"],
                "extra_held_bytes": memory[form.name]["held_bytes"] - memory[PLAIN.name]["held_bytes"],
            }
            for form in forms
        },
    }


def _load_times(files: Files, forms: list[Form], loads: int, clock: str) -> dict[str, Contender]:
    contenders = {
        form.name: Contender.of(form.name, lambda form=form: open_form(files, form, 1), clock)  # type: ignore[misc]
        for form in forms
    }
    measure(list(contenders.values()), loads, warm_up=_WARM_UP_LOADS)
    return contenders


def _probe(path: Path, size: int, native: bool) -> dict[str, int]:
    """Memory of a fresh process that loads the file and runs it: at its peak, and held afterwards."""
    command = [sys.executable, "-m", f"{__package__}.footprint", str(path), "--size", str(size)]
    done = subprocess.run(
        [*command, *(["--native"] if native else [])],
        cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    measured: dict[str, int] = json.loads(done.stdout)
    return measured


def main() -> int:
    """The probe: bytes above what the process held before it opened the file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--native", action="store_true")
    options = parser.parse_args()
    before = memory_bytes()
    reset_peak()
    session = open_session(options.path, threads=1, provider="cpu", native=options.native)
    run = runner(session, options.size)
    for _ in range(PROBE_RUNS):
        run()
    print(json.dumps({"peak_bytes": peak_bytes() - before, "held_bytes": memory_bytes() - before}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
