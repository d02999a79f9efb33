"""`fastcam check`: which preprocessing fits a network that does not say."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import numpy as np
from fastcam_runtime.classes import find_class, label_of
from fastcam_runtime.contract import PREPROCESS, ImageInput, Preprocess
from fastcam_runtime.errors import SourceError
from fastcam_runtime.text import count, left_table

from ..analysis.plan import plan
from ..errors import GraftError
from ..evaluate.pictures import list_pictures, read_picture
from ..fitting import Fit, Photo, fits
from ..load import load
from ..metadata.resolve import resolve
from ..options import Options
from ..save.interruption import temporary_folder
from ..save.streaming import write_model
from .arguments import graft_options

_MOST = 60
"""Most photos to read, evenly spread: more take longer and change little."""
_SHOWN = 8


def run(args: argparse.Namespace) -> None:
    """Try every candidate and print the table, then the options to use."""
    options = Options(**graft_options(args))
    source = load(args.model, input_shape=options.input_shape)
    found = plan(source, options)
    if not found.has_classes or found.classes == 0:
        raise GraftError(
            f"'{found.ends.scores.name}' of {args.model} has no score per class: check needs a classifier"
        )
    now = resolve(found, options, source)
    ends = found.ends
    photos = _photos(args.photos, args.expect, now.labels, found.classes, ends.image_input)
    with temporary_folder("fastcam-check-") as folder:
        path = source.path
        if path is None or source.notes:
            path = folder / "network.onnx"
            write_model(source.proto, path)
        ranking = fits(path, ends.image_input, ends.scores.name or "", found.scores_are, photos)
    _report(ranking, photos, now.labels)
    print(f"without options: {now.preprocess.order}, {now.resize}   {now.provenance.preprocess}")


def _photos(
    given: list[str], expect: str | None, labels: tuple[str, ...], classes: int | None, image: ImageInput
) -> list[Photo]:
    wanted = find_class(expect, labels, classes) if expect is not None else None
    files: list[tuple[Path, int | None]] = []
    for name in given:
        path = Path(name)
        folders = sorted(f for f in path.iterdir() if f.is_dir()) if path.is_dir() else []
        if folders and wanted is None:
            for folder in folders:
                index = find_class(folder.name.replace("_", " "), labels, classes)
                files += [(file, index) for file in list_pictures(str(folder))]
        else:
            files += [(file, wanted) for file in list_pictures(name)]
    some = [files[i] for i in np.unique(np.linspace(0, len(files) - 1, min(_MOST, len(files))).astype(int))]
    photos = [
        Photo.of(np.ascontiguousarray(pixels), image, index)
        for file, index in some
        if (pixels := read_picture(file, tell=True)) is not None
    ]
    if not photos:
        raise SourceError(f"{', '.join(given)}: no picture could be read")
    return photos


def _report(ranking: list[Fit], photos: list[Photo], labels: tuple[str, ...]) -> None:
    known = photos[0].expected is not None
    right_head = ("right",) if known else ()
    rows: list[tuple[str, ...]] = [("", "preprocess", "resize", "fit", *right_head, "top of the first photo")]
    for place, fit in enumerate(ranking[:_SHOWN]):
        top = np.argsort(-fit.probabilities[0])[:3]
        names = ", ".join(f"{label_of(i, labels)} {fit.probabilities[0][i]:.0%}" for i in top)
        right = (f"{fit.right}/{len(photos)}",) if known else ()
        mark = "best" if place == 0 else ""
        rows.append((mark, fit.candidate.name, fit.candidate.resize, f"{fit.fit:.3f}", *right, names))
    print(left_table(rows))
    best, second = ranking[0], ranking[1]
    print(f"\n{count(len(photos), 'photo')}; use: {_options(best)}")
    if best.fit < 1.1 * second.fit:
        print(f"{second.candidate.name}, {second.candidate.resize} is almost as good: try more photos")
    if not known:
        print("no class was expected: --expect NAME, or folders named after classes, make the answer certain")


def _options(fit: Fit) -> str:
    """The options of `fastcam export` that choose this candidate."""
    pre: Preprocess = fit.candidate.preprocess
    preset = next((name for name, known in PREPROCESS.items() if known == pre), None)
    said = {"order": pre.order, "mean": list(pre.mean), "std": list(pre.std)}
    return f"--preprocess {preset or shlex.quote(json.dumps(said))} --resize {fit.candidate.resize}"
