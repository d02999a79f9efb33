"""`fastcam tune`: parse the options, measure, ask which form to write, and write it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser
from fastcam_runtime.cli.output_paths import check_json_path, refuse_overwriting, write_json
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.measure.paired import BenchOptions
from fastcam_runtime.text import one_line

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
from ..tune.pictures import DEFAULT, read_pictures
from ..tune.tuning import Tuning, tune
from .arguments import add_graft_options, default_target, graft_options
from .progress import Progress

NOTHING_WRITTEN = 1
NONE = "none"

_DESCRIPTION = """\
Measure on this device what saliency maps cost, and write a file whose maps are within a budget.

The exact forms are measured first: as functions, which use compiled kernels where these were built; as
standard operators; and prepared for this device where that is possible. Only if none of them is within the
budget, cheaper forms follow: maps without the largest scales, or from a part of their channels. These are
approximations, and the files say so.
"""

_EPILOG = """\
The form that is written is the one of --pick; on a terminal, the one that you name when asked; otherwise the
cheapest exact form within the budget, or else the approximation within it that is most like the exact map.
If noise leaves it open whether an exact form is within the budget, and the choice depends on it, up to four
times as many rounds are run. If it is still open, the exact form is written and the last line says so.

exit code: 0 a file was written; 1 none was, as no form is within the budget or you took none; 2 an error

examples:
  fastcam tune model.onnx --budget 5% --images 'photos/*.jpg'
  fastcam tune model.onnx --budget 0.5ms --images clip.mp4 --threads 1 --json tune.json
  fastcam tune model.onnx --budget 5% --pick without-1 --out model-fast.onnx
"""


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser(
        "tune",
        allow_abbrev=False,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument(
        "--budget", required=True, metavar="B", help="5%% (of the plain network's time), 5, or 0.5ms"
    )
    command.add_argument(
        "--images",
        default=DEFAULT,
        metavar="INPUT",
        help="pictures to compare maps on: 'photos/*.jpg', a folder, clip.mp4, test:// (the built-in clip)",
    )
    command.add_argument("--out", metavar="FILE", help="default: NAME-tuned.onnx")
    command.add_argument("--pick", metavar="NAME", help="write this form, within the budget or not")
    command.add_argument("--rounds", type=int, default=100, metavar="N", help="runs of each form (100)")
    command.add_argument("--threads", type=int, metavar="N", help="threads of the network (cores, 4 at most)")
    command.add_argument("--no-native", dest="compiled", action="store_false", help="no compiled kernels")
    command.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to FILE")
    add_graft_options(command, leave_out=("outputs", "cam", "class_input", "inline", "prepared"))
    command.set_defaults(handler=run)


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
    if args.json is not None:
        write_json(args.json, found | {"file": str(out)})
    print(f"{exported}: {chosen.form.name}, {report.describe(chosen)}{report.doubt(tuning, chosen)}")
    return 0


def _plain_file(
    model: str, out: Path, wanted: Mapping[str, Any], folder: Path
) -> tuple[Path, list[tuple[int, ...]]]:
    """The network as a file, made in `folder` where it has none yet, and the shapes of its scales.

    An output that could not be written is refused here, before anything is measured.
    """
    options = Options(**wanted)
    source = load(model, input_shape=options.input_shape)
    refuse_source(out, source.path)
    found = plan(source, options)
    for note in (*source.notes, *found.notes, *options.notes):
        print(f"note: {one_line(note)}", file=sys.stderr)
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
        print("nothing was written; --pick NAME writes a form all the same", file=sys.stderr)
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
