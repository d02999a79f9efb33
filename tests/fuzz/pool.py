"""Feed workers with cases, and count crashes, hangs, memory growth and leftover files."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.paths import ROOT

from .worker import MODEL, complaint

SECONDS, BYTES = 20.0, 2_000_000_000
"""The limits of one command."""
_PATIENCE = 90.0
"""Seconds after which a worker is killed; a run over `SECONDS` counts as slow."""
_CASES_PER_WORKER = 300
"""A worker is replaced after so many runs: onnxruntime's leaks must not count against the files."""


@dataclass
class Figures:
    """What happened so far."""

    counts: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)
    slowest: float = 0.0
    largest: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ended(self, case: str, answer: dict[str, Any]) -> None:
        """Count one run of a command."""
        with self.lock:
            self.counts["runs"] += 1
            self.counts[f"exit {answer['code']}"] += 1
            self.slowest = max(self.slowest, answer["seconds"])
            self.largest = max(self.largest, answer["rss"])
        if answer["trouble"]:
            what = "tracebacks" if answer["trouble"].startswith("traceback") else "other lines"
            self.note(what, f"{case} {answer['end']}: {answer['trouble']}")
        if answer["seconds"] > SECONDS:
            self.note("over 20 s", f"{case} {answer['end']}: {answer['seconds']:.0f} s")
        if answer["rss"] > BYTES:
            self.note("over 2 GB", f"{case} {answer['end']}: {answer['rss'] / 1e9:.1f} GB")

    def note(self, what: str, text: str) -> None:
        """Count a failure and keep its description."""
        with self.lock:
            self.counts[what] += 1
            self.troubles.append(f"{what}: {text}")
            print(f"FOUND {what}: {text}", flush=True)

    def __str__(self) -> str:
        kinds = ("cases", "runs", "exit 0", "exit 2", *TROUBLES)
        listed = ", ".join(f"{kind} {self.counts[kind]}" for kind in kinds)
        return f"{listed}; slowest run {self.slowest:.1f} s, largest {self.largest / 1e6:.0f} MB"


TROUBLES = ("tracebacks", "other lines", "aborts", "over 20 s", "over 2 GB", "partial files")


def run_cases(cases: Iterable[tuple[str, int]], jobs: int, keep: Path | None = None) -> Figures:
    """Run cases `(kind, number)` in so many workers; files that fail are copied to `keep`."""
    waiting: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    figures = Figures()
    with ThreadPoolExecutor(jobs) as pool:
        feeding = [pool.submit(_feed, waiting, figures, keep) for _ in range(jobs)]
        try:
            while wait(feeding, timeout=30).not_done:
                print(figures, flush=True)
        except KeyboardInterrupt:
            with suppress(queue.Empty):
                while True:
                    waiting.get_nowait()
            raise
    for one in feeding:
        one.result()  # raises what ended it early: cases that were not run must not count as passed
    return figures


def _feed(waiting: queue.SimpleQueue[tuple[str, int]], figures: Figures, keep: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="fastcam-fuzz-") as name:
        folder = Path(name)
        worker: _Worker | None = None
        while True:
            try:
                kind, number = waiting.get_nowait()
            except queue.Empty:
                break
            if worker is None or worker.cases >= _CASES_PER_WORKER:
                if worker is not None:
                    worker.end()
                worker = _Worker(folder)
            before = len(figures.troubles)
            if not worker.run(kind, number, figures):
                worker.end()
                worker = None
            if keep is not None and len(figures.troubles) > before and (folder / "case" / MODEL).exists():
                shutil.copy(folder / "case" / MODEL, keep / f"{kind}-{number}.onnx")
        if worker is not None:
            worker.end()


class _Worker:
    """One process of `worker.py`."""

    def __init__(self, folder: Path) -> None:
        self.cases = 0
        self._folder = folder
        self._errors = (folder / "errors").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(
                    filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")))
                ),
                "XDG_CACHE_HOME": str(folder / "cache"),
                "OMP_NUM_THREADS": "1",
            },
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self._next(120.0)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _next(self, seconds: float) -> dict[str, Any] | None:
        """The next answer; empty if the process has ended, None on a timeout."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        return dict(json.loads(line)) if line else {}

    def run(self, kind: str, number: int, figures: Figures) -> bool:
        """Run one case; False if the worker must be replaced."""
        case, command = f"{kind} {number}", "?"
        assert self._process.stdin is not None
        self._process.stdin.write(f"{kind} {number}\n")
        self._process.stdin.flush()
        self.cases += 1
        figures.counts["cases"] += 1
        started = time.monotonic()
        while True:
            answer = self._next(_PATIENCE)
            if answer is None:
                figures.note("over 20 s", f"{case} {command}: killed after {_PATIENCE:g} s")
                return False
            if not answer:
                self._ended(case, command, time.monotonic() - started, figures)
                return False
            if "begin" in answer:
                command, started = answer["begin"], time.monotonic()
            elif "end" in answer:
                figures.ended(case, answer)
            else:
                if answer["partial"]:
                    figures.note("partial files", f"{case}: {', '.join(answer['partial'])}")
                return True

    def _ended(self, case: str, command: str, seconds: float, figures: Figures) -> None:
        """The process ended inside a command: a crash, or it was killed for using too much memory."""
        code = self._process.wait(10)
        said = (self._folder / "log").read_text(errors="replace")
        if code == 2 and not complaint(code, said):
            figures.ended(case, {"end": command, "code": 2, "seconds": seconds, "rss": 0, "trouble": ""})
        else:
            errors = (self._folder / "errors").read_text(errors="replace")
            figures.note("aborts", f"{case} {command}: ended with {code}: {said[-300:]}{errors[-300:]}")

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._errors.close()
