"""The options of `fastcam evaluate`: how good the maps of a file are on the user's pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastcam_runtime.cli.output_paths import refuse_overwriting
from fastcam_runtime.contract import METADATA_KEY
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.model.file import summarize_file
from fastcam_runtime.sources.registry import open_source

from ..api import export
from ..errors import GraftError
from ..evaluate.evaluation import EvaluationRequest, begin, evaluate
from ..evaluate.objects import Objects
from ..evaluate.pictures import list_pictures
from ..evaluate.subject import JUDGED, Subject
from ..save.interruption import keep_results, temporary_folder, waiting_for_results
from .arguments import graft_options
from .delivery import check_targets, deliver, is_stdout
from .progress import Progress
from .stages import Stages
from .telling import tell_notes, tell_values

STOPPED = 130


def run(args: argparse.Namespace) -> int:
    """Measure, print, write; returns the exit code."""
    if args.count is not None and args.count < 1:
        raise FastcamError(f"--count {args.count}: at least 1 is needed")
    if args.seed < 0:
        raise FastcamError(f"--seed {args.seed}: 0 or more is needed")
    if args.more:
        raise FastcamError(
            f"PICTURES is one folder or pattern, not {len(args.more) + 1} names; the shell has replaced a "
            f"pattern: put it in quotes, such as '{_pattern(args.pictures)}'"
        )
    check_targets(args.json, args.html)
    files = [path for path in (args.json, args.html) if path is not None and not is_stdout(path)]
    refuse_overwriting([args.model, str(args.boxes or ""), args.pictures], files)
    pictures = list_pictures(args.pictures, masks=args.boxes is not None)
    objects = None if args.boxes is None else Objects(args.boxes)
    if objects is not None:
        pictures = objects.without_masks(pictures)
    if args.count is not None and args.count < len(pictures):
        pictures = [pictures[k * len(pictures) // args.count] for k in range(args.count)]
    if args.video is not None:
        with open_source(args.video):
            pass  # one that cannot be opened is refused before the pictures are measured
    request = EvaluationRequest(pictures, objects, args.video, args.seed, args.sanity)
    with temporary_folder("fastcam-evaluate-") as folder:
        subject = Subject(_grafted(args, folder), args.threads, args.model)
        found = begin(subject, args.model, request)
        with waiting_for_results(lambda: found.pictures), Progress(sys.stderr) as progress:
            try:
                evaluate(subject, request, found, Stages(progress, request))
            except KeyboardInterrupt:
                if not found.pictures:
                    raise
                found.stopped = True
                keep_results()
    deliver(found, args.json, args.html)
    return STOPPED if found.stopped else 0


def _pattern(name: str) -> str:
    """The pattern that a shell may have replaced by `name` and others."""
    return str(Path(name).parent / f"*{Path(name).suffix}")


def _grafted(args: argparse.Namespace, folder: Path) -> Path:
    """The file to evaluate: `model` itself if it has maps, else a copy with maps in `folder`."""
    path = Path(args.model)
    options = graft_options(args)
    if path.is_file() and METADATA_KEY in summarize_file(path).metadata:
        if options:
            given = ", ".join(f"--{name.replace('_', '-')}" for name in options)
            raise FastcamError(
                f"{path} has its maps already, so {given} would have no effect: give the plain network, or "
                "leave the options out"
            )
        return path
    target = folder / "grafted.onnx"
    notes: list[str] = []
    try:
        exported = export(args.model, target, outputs=JUDGED, **options)
    except GraftError as error:
        # No class maps for this head: evaluate saliency_map alone.
        exported = export(args.model, target, **options)
        notes.append(f"only saliency_map: {error}")
    if sys.stderr is not None:  # closed; print would take standard output
        tell_notes(notes + list(exported.notes))
        tell_values(exported.metadata, sys.stderr)
    return exported.path
