"""`fastcam inspect` of a plain network: its scales and the taps chosen."""

from __future__ import annotations

import argparse

from fastcam_runtime.classes import describe_scores
from fastcam_runtime.errors import guarded
from fastcam_runtime.model.description import value_lines
from fastcam_runtime.text import left_table, many_lines, one_line

from ..analysis.ends import Ends
from ..analysis.flops import count_flops
from ..analysis.plan import Plan, plan
from ..analysis.scores import holds_no_numbers
from ..detect.find import Detector
from ..errors import GraftError
from ..load import load
from ..metadata.resolve import resolve
from ..method.weights import scale_weights
from ..options import Options
from .arguments import graft_options


def run(args: argparse.Namespace) -> None:
    """Print what `describe` says of the model that the arguments name."""
    print(describe(args.model, Options(**graft_options(args)), flops=args.flops))


def describe(model: str, options: Options, *, flops: bool = False) -> str:
    """A table of a network's scales, for a person; with `flops`, of the operations of its maps.

    Raises:
        FastcamError: The model cannot be read, or has no usable scale.
    """
    with guarded(model):
        source = load(model, input_shape=options.input_shape)
        found = plan(source, options)
    notes = "".join(f"note: {one_line(note)}\n" for note in (*source.notes, *found.notes))
    if flops:
        return notes + _describe_flops(found)
    try:
        fed = resolve(found, options, source)
        values = value_lines(fed.preprocess, fed.resize, fed.labels, fed.provenance)
    except GraftError as error:
        values = [f"preprocess  not known: {error}"]  # the scales can be shown all the same
    return notes + _describe_plan(found, values)


def _describe_flops(found: Plan) -> str:
    """The paper's table of operations, for this network."""
    head = ("scale", "channels", "height", "width", "SMOE", "normalise", "combine", "total")
    rows: list[tuple[str, ...]] = [head]
    shapes = [(tap.shape[1], tap.shape[2], tap.shape[3]) for tap in found.taps]
    size = dict(zip(found.ends.layout, found.ends.shape, strict=True))
    counts = count_flops(shapes, (size["H"], size["W"]))
    figures = [(one.smoe, one.norm, one.combine, one.total) for one in counts]
    sums = [sum(column) for column in zip(*figures, strict=True)]
    for k, (shape, one) in enumerate(zip(shapes, figures, strict=True), start=1):
        rows.append((str(k), *map(str, shape), *(f"{value:,}" for value in one)))
    rows.append(("total", "", "", "", *(f"{value:,}" for value in sums)))
    return (
        f"{left_table(rows)}\n\n{sums[-1]:,} operations per frame for saliency_map with the default "
        "statistic and normalisation, a logarithm or error function counted as one. This is the paper's "
        "count, not a time: docs/costs.md has measured times."
    )


def _describe_plan(found: Plan, values: list[str]) -> str:
    ends = found.ends
    shape = _shape(ends)
    assumed = "×".join(map(str, ends.shape))
    seen = "" if shape == assumed else f", analysed as {assumed}"
    lines = [
        f"image   {ends.image.name}  {shape} {ends.layout}{seen}",
        *_describe_head(found),
        *values,
        "",
    ]
    weights = scale_weights(None, len(found.taps))
    rows = [("scale", "size", "channels", "weight", "tensor", "operator", "why")]
    for k, (tap, weight) in enumerate(zip(found.taps, weights, strict=True), start=1):
        size = f"{tap.shape[2]}×{tap.shape[3]}"
        rows.append((str(k), size, str(tap.shape[1]), f"{weight:g}", tap.name, tap.operator, tap.why))
    lines.append(left_table(rows))
    rejected = [
        f"  scale {k}: {reason}" for k, tap in enumerate(found.taps, start=1) for reason in tap.rejected
    ]
    if rejected:
        lines += ["", "not chosen, nearest first:", *rejected]
    return many_lines("\n".join(lines))


def _describe_head(found: Plan) -> list[str]:
    """The class scores, or a detector's head with the reasons."""
    if isinstance(found.detector, Detector):
        return found.detector.describe()
    scores = found.ends.scores
    told = describe_scores(
        found.scores_shape, found.scores_are, numbers=not holds_no_numbers(found.ends.scores)
    )
    lines = [f"scores  {scores.name}  {told}"]
    if found.detector is not None:
        lines.append(f"head    {found.detector}")
    return lines


def _shape(ends: Ends) -> str:
    """The picture's dimensions; free ones by their letters."""
    dims = list(ends.image.shape) if ends.image.shape is not None else list(ends.layout)
    pairs = zip(dims, ends.layout, strict=True)
    return "×".join(str(d) if isinstance(d, int) and d > 0 else letter for d, letter in pairs)
