"""What the maps cost: every form of the grafted file against the plain one, network by network.

    python -m benchmarks.overhead --rounds 100 --check

Paired and interleaved in one process: each round runs every form once, and the result is the median of the
differences within the rounds. Every form's scores and `saliency_map` are checked before it is timed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastcam_runtime.errors import FastcamError
from fastcam_runtime.text import format_table

from .inputs.modules import plain_file
from .inputs.networks import NETWORKS, SIZE, check_name
from .measuring import report
from .measuring.footprint import footprint
from .measuring.forms import (
    PLAIN,
    Files,
    TimedForm,
    available_forms,
    check_equal,
    make_files,
    open_form,
    runner,
)
from .measuring.rounds import CLOCKS, Contender, difference, measure, summary
from .paths import RESULTS
from .tables import targets

logger = logging.getLogger(__name__)

THREADS = (1, 2)
SIZES = (160, 224, 320, 480, 640)
GROWING = ("mobilenet_v2", "resnet50")
"""The networks that are measured at all `SIZES`."""
LOADS = 15
PAUSE = 0.02
"""Seconds before each run on several threads, until the thread pools of the other sessions stop spinning."""


@dataclass(frozen=True)
class FormTimes:
    """One network at one size on one number of threads; the plain file comes first."""

    network: str
    size: int
    threads: int
    contenders: list[Contender]

    def as_dict(self) -> dict[str, Any]:
        """The plain file's times, what each form adds, and what class maps add to that."""
        plain, *forms = self.contenders
        by_name = {form.name: form for form in forms}
        on_top = {
            name: difference(by_name[name], by_name[f"{name}+classes"], whole=plain)
            for name in by_name
            if f"{name}+classes" in by_name
        }
        return {
            "network": self.network, "size": self.size, "threads": self.threads, "plain": summary(plain),
            "forms": {form.name: difference(plain, form) for form in forms},
            "classes_on_top": on_top,
        }  # fmt: skip

    def __str__(self) -> str:
        figures = self.as_dict()
        costs = (f"{form} {cost['percent']:+.1f} %" for form, cost in figures["forms"].items())
        plain = figures["plain"]["median_ms"]
        return f"{self.network} {self.size}² ×{self.threads}: plain {plain:.2f} ms, {', '.join(costs)}"


def measure_forms(
    name: str, files: Files, size: int, threads: int, forms: Sequence[TimedForm], options: argparse.Namespace
) -> FormTimes:
    """The forms of one network, on one number of threads."""
    sessions = {form.name: open_form(files, form, threads) for form in (PLAIN, *forms)}
    check_equal(sessions, size)
    contenders = [
        Contender.of(form, runner(session, size), options.clock) for form, session in sessions.items()
    ]
    measure(contenders, options.rounds, pause=PAUSE if threads > 1 else 0)
    # The sessions of all networks together would take 15 GB.
    measured = FormTimes(name, size, threads, [contender.without_work() for contender in contenders])
    logger.info("%s", measured)
    return measured


def measure_network(name: str, options: argparse.Namespace) -> tuple[list[FormTimes], dict[str, Any] | None]:
    """A network at the usual size for each number of threads, and its footprint if requested."""
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
        files = make_files(plain_file(name, SIZE), Path(folder))
        runs = [
            measure_forms(name, files, SIZE, threads, available_forms(files), options)
            for threads in options.threads
        ]
        if not options.loads:
            return runs, None
        return runs, footprint(files, SIZE, loads=options.loads, clock=options.clock)


def measure_growth(name: str, usual: FormTimes | None, options: argparse.Namespace) -> list[FormTimes]:
    """A network at each size on one thread; `usual` is the existing result at the usual size."""
    runs = []
    for size in options.sizes:
        if size == SIZE and usual is not None:
            runs.append(usual)
            continue
        with tempfile.TemporaryDirectory(dir=RESULTS) as folder:
            files = make_files(plain_file(name, size), Path(folder), classes=False)
            runs.append(measure_forms(name, files, size, 1, available_forms(files), options))
    return runs


@dataclass
class OverheadResults:
    """The results so far; saved after every network, so that an interrupted run is not lost."""

    config: dict[str, Any]
    usual: list[FormTimes] = field(default_factory=list)
    growth: list[FormTimes] = field(default_factory=list)
    footprints: dict[str, Any] = field(default_factory=dict)
    complete: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The figures, and which promises they keep."""
        result: dict[str, Any] = {
            "config": self.config,
            "complete": self.complete,
            "overhead": [one.as_dict() for one in self.usual],
            "growth": [one.as_dict() for one in self.growth],
            "footprint": self.footprints,
        }
        result["targets"] = [outcome.as_dict() for outcome in targets.outcomes(result)]
        return result

    def save(self) -> None:
        """Write the figures and the raw samples."""
        distinct = {id(one): one for one in (*self.usual, *self.growth)}.values()
        samples = [
            {"network": one.network, "size": one.size, "threads": one.threads,
             "samples_ms": report.samples_of(one.contenders)}
            for one in distinct
        ]  # fmt: skip
        report.save("overhead", self.as_dict(), {"runs": samples})


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the requested measurements; save and return the results."""
    RESULTS.mkdir(exist_ok=True)
    packages = ("onnx", "torch", "torchvision")
    results = OverheadResults(
        report.setup(packages, rounds=options.rounds, loads=options.loads, clock=options.clock)
    )
    for name in options.networks:
        runs, found = measure_network(name, options)
        results.usual += runs
        if found is not None:
            results.footprints[name] = found
        results.save()
    alone = {one.network: one for one in results.usual if one.threads == 1}
    for name in GROWING:
        if name in options.networks:
            results.growth += measure_growth(name, alone.get(name), options)
            results.save()
    results.complete = True
    results.save()
    return results.as_dict()


def text(result: dict[str, Any]) -> str:
    """The tables for the terminal."""
    parts = [report.describe(result["config"])]
    for kind in ("overhead", "growth"):
        if result[kind]:
            parts.append(_cost_table(result[kind]))
    if result["footprint"]:
        parts.append(_footprint_table(result["footprint"]))
    return "\n\n".join(parts)


def _cost_table(runs: Sequence[dict[str, Any]]) -> str:
    forms = [form for form in runs[0]["forms"] if all(form in one["forms"] for one in runs)]
    head = ["network", "size", "threads", "plain ms", *(f"{form} % (95 %)" for form in forms)]
    rows = []
    for one in runs:
        cells = []
        for form in forms:
            cost = one["forms"][form]
            low, high = cost["interval_percent"]
            cells.append(f"{cost['percent']:+.1f} ({low:.1f}…{high:.1f})")
        plain = f"{one['plain']['median_ms']:.2f}"
        rows.append([NETWORKS[one["network"]].title, f"{one['size']}²", str(one["threads"]), plain, *cells])
    return format_table(head, rows)


def _footprint_table(footprints: dict[str, Any]) -> str:
    head = ["network", "form", "file +kB", "load ms", "load +%", "peak MB", "peak +MB", "held +MB"]
    rows = [
        [
            NETWORKS[name].title, form, f"{extra['file_growth_bytes'] / 1e3:.1f}",
            f"{one['load']['median_ms']:.1f}", f"{extra['load']['percent']:+.1f}",
            f"{one['memory']['peak_bytes'] / 1e6:.1f}", f"{extra['extra_peak_bytes'] / 1e6:+.1f}",
            f"{extra['extra_held_bytes'] / 1e6:+.1f}",
        ]
        for name, one in footprints.items()
        for form, extra in one["forms"].items()
    ]  # fmt: skip
    return format_table(head, rows)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="benchmarks.overhead", description=__doc__.partition("\n")[0])
    made.add_argument("--rounds", type=int, default=100, metavar="N", help="runs of each form (100)")
    made.add_argument("--networks", type=_names, default=list(NETWORKS), metavar="A,B", help="all")
    made.add_argument("--threads", type=_numbers, default=list(THREADS), metavar="A,B", help="1,2")
    made.add_argument(
        "--sizes", type=_numbers, default=list(SIZES), metavar="A,B", help="of ResNet-50 and MobileNetV2"
    )
    made.add_argument("--loads", type=int, default=LOADS, metavar="N", help=f"loads of each form ({LOADS})")
    made.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a machine that is busy")
    made.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken")
    return made


def _names(words: str) -> list[str]:
    return [check_name(word) for word in words.split(",") if word]


def _numbers(words: str) -> list[int]:
    return [int(word) for word in words.split(",") if word]


def main(arguments: Sequence[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        options = parser().parse_args(arguments)
        if options.clock == "cpu":
            options.threads = [1]  # CPU time is the sum over all threads, so it cannot show a speed-up
        result = run(options)
    except FastcamError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    found = targets.outcomes(result)
    print(f"\n{text(result)}\n\n{targets.format_outcomes(found)}")
    return int(options.check and any(not outcome.kept for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
