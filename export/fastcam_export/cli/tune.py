"""`fastcam tune`: parse the options, measure, ask which form to write, and write it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fastcam_runtime.cli.output_paths import check_json_path, refuse_overwriting, write_json
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.measure.paired import BenchOptions

from ..analysis.plan import plan
from ..api import export
from ..load import load
from ..metadata.labels import read_labels
from ..options import Options
from ..save.draft import check_target, refuse_source
from ..save.interruption import temporary_folder
from ..save.streaming import write_model
from ..tune import report
from ..tune.budget import Budget
from ..tune.measuring import Measured, Workbench
from ..tune.pictures import read_pictures
from ..tune.tuning import Tuning, tune
from .arguments import default_target, graft_options
from .progress import Progress
from .telling import tell_notes, tell_values

NOTHING_WRITTEN = 1
NONE = "none"


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, ask, write; returns the exit code."""
    budget = Budget.parse(args.budget)
    options = BenchOptions(threads=args.threads, rounds=args.rounds, compiled=args.compiled)
    named = default_target(args.model, "tuned") if args.out is None else args.out
    out = check_target(named, args.labels)
    wanted = graft_options(args)
    if args.labels is not None:
        # Read once: a pipe cannot be read again for every form.
        wanted["labels"] = read_labels(args.labels)
    if args.json is not None:
        check_json_path(args.json)
        refuse_overwriting([], [out, args.json])
        refuse_overwriting([args.model, args.labels or "", args.images], [args.json])
    pictures = read_pictures(args.images)
    with temporary_folder("fastcam-tune-") as folder:
        model, shapes = _plain_file(args.model, out, wanted, folder)
        workbench = Workbench(model, wanted, pictures, options)
        with Progress(sys.stderr) as progress:
            tuning = tune(shapes, budget, workbench, args.pick, _stages(progress))
        print(report.text(tuning, workbench.setup(), args.images) + "\n")
        chosen = _choose(tuning, args.pick)
        found = report.as_dict(tuning, workbench.setup(), args.images)
        found |= {"picked": chosen.form.name if chosen is not None else None, "file": None}
        if args.json is not None:
            # Before the export: a full disk must not lose what took minutes to measure.
            write_json(args.json, found)
        if chosen is None:
            return NOTHING_WRITTEN
        exported = export(model, out, **wanted, **chosen.form.options)
        tell_values(exported.metadata, sys.stderr)
    if args.json is not None:
        write_json(args.json, found | {"file": str(out)})
    print(f"{exported}: {chosen.form.name}, {report.describe(chosen)}{report.doubt(tuning, chosen)}")
    return 0


def _plain_file(
    model: str, out: Path, wanted: Mapping[str, Any], folder: Path
) -> tuple[Path, list[tuple[int, ...]]]:
    """The network as a file, created in `folder` if it has none, and the shapes of its scales.

    An output that cannot be written is refused here, before anything is measured.
    """
    options = Options(**wanted)
    source = load(model, input_shape=options.input_shape)
    refuse_source(out, source.path)
    found = plan(source, options)
    tell_notes((*source.notes, *found.notes, *options.notes))
    shapes = [tap.shape for tap in found.taps]
    path = source.path
    if path is None:
        path = folder / "original.onnx"
        write_model(source.proto, path)
    return path, shapes


def _stages(progress: Progress) -> Callable[[str, int, int], None]:
    """Show every form as a stage. Measuring a form again is another stage."""
    begun = set()

    def update(form: str, done: int, total: int) -> None:
        if not done:
            progress.begin(f"measure {form}{' again' if form in begun else ''}")
            begun.add(form)
        progress.update(done, total)

    return update


def _choose(tuning: Tuning, pick: str | None) -> Measured | None:
    """The form to write: the one of --pick, the answer of the user, or the best within the budget."""
    if pick is not None:
        return tuning.named(pick)
    best = tuning.best
    if best is None:
        nearest = tuning.cheapest
        print(
            f"no form is within the budget of {tuning.budget}; the closest is {nearest.form.name} with "
            f"{nearest.cost.percent:+.1f} % ({nearest.cost.median:+.3f} ms)",
            file=sys.stderr,
        )
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _ask(tuning, best.form.name if best else NONE)
    if best is None:
        print("nothing was written; write a form anyway with --pick NAME", file=sys.stderr)
    return best


def _ask(tuning: Tuning, default: str) -> Measured | None:
    while True:
        try:
            answer = input(f"Write which form, or {NONE}? [{default}] ").strip() or default
        except EOFError:
            print()
            return None
        if answer == NONE:
            return None
        try:
            return tuning.named(answer)
        except FastcamError as error:
            print(error)
