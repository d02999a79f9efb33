"""`fastcam inspect`: a network's scales and the taps chosen, or what a grafted file contains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
from fastcam_runtime import preparation
from fastcam_runtime.branch import summarize_file
from fastcam_runtime.contract import DOMAIN, METADATA_KEY, Metadata
from fastcam_runtime.form import running_form

from .graph.ends import Ends, scores_are
from .load import load
from .load.onnx_file import read
from .options import Options
from .plan import Plan, plan
from .weights import scale_weights


def describe(model: str, options: Options) -> str:
    """A table for a person: of the scales of a plain network, or of the contents of a grafted one.

    Raises:
        FastcamError: The model cannot be read, or has no usable scale.
    """
    if Path(model).is_file():
        proto, _ = read(Path(model))
        text = next((entry.value for entry in proto.metadata_props if entry.key == METADATA_KEY), None)
        if text is not None:
            return _describe_grafted(model, proto, Metadata.of_file(Path(model), text))
    source = load(model, input_shape=options.input_shape)
    found = plan(source, options)
    notes = "".join(f"note: {note}\n" for note in (*source.notes, *found.notes))
    return notes + _describe_plan(found)


def _describe_plan(found: Plan) -> str:
    ends = found.ends
    shape = _shape(ends)
    assumed = "×".join(map(str, ends.shape))
    seen = "" if shape == assumed else f", seen here as {assumed}"
    lines = [
        f"image   {ends.image.name}  {shape} {ends.layout}{seen}",
        f"scores  {ends.scores.name}  {scores_are(ends.scores)}",
        "",
    ]
    weights = scale_weights(None, len(found.taps))
    rows = [("scale", "size", "channels", "weight", "tensor", "operator", "why")]
    for k, (tap, weight) in enumerate(zip(found.taps, weights, strict=True), start=1):
        size = f"{tap.shape[2]}×{tap.shape[3]}"
        rows.append((str(k), size, str(tap.shape[1]), f"{weight:g}", tap.name, tap.operator, tap.why))
    lines += _table(rows)
    lines += ["", "not taken, nearest first:"]
    for k, tap in enumerate(found.taps, start=1):
        lines += [f"  scale {k}: {reason}" for reason in tap.rejected]
    return "\n".join(lines)


def _shape(ends: Ends) -> str:
    """The picture's dimensions, those that the network leaves free by their letters."""
    dims = list(ends.image.shape) if ends.image.shape is not None else list(ends.layout)
    pairs = zip(dims, ends.layout, strict=True)
    return "×".join(str(d) if isinstance(d, int) and d > 0 else letter for d, letter in pairs)


def _describe_grafted(model: str, proto: onnx.ModelProto, metadata: Metadata) -> str:
    image = metadata.image
    functions = any(f.domain == DOMAIN for f in proto.functions)
    form = "prepared" if metadata.prepared else "functions" if functions else "plain operators"
    pre = metadata.preprocess
    lines = [
        f"{model} is grafted (format {metadata.version}, {form})",
        f"image       {image.name}  {image.channels} channels, {image.height}×{image.width} {image.layout}",
        f"preprocess  {pre.order} (x − {list(pre.mean)}) / {list(pre.std)}, {metadata.resize}",
        f"scores      {metadata.scores}  {metadata.scores_are}, {len(metadata.labels) or 'no'} labels",
        f"maps        {metadata.statistic} (epsilon {metadata.epsilon:g}) → {metadata.normalize}",
        *([f"approximate {metadata.approximation}"] if metadata.approximation else []),
        *([f"class maps  {metadata.cam}"] if metadata.cam else []),
        *([f"prepared    for {metadata.prepared}, and nothing else"] if metadata.prepared else []),
        f"outputs     {', '.join(metadata.outputs)}",
        f"runs here   {_runs_here(Path(model), metadata)}",
        f"source      sha256 {metadata.source_sha256}",
        "",
    ]
    rows = [("scale", "shape", "weight", "tensor")]
    for k, tap in enumerate(metadata.taps, start=1):
        rows.append((str(k), "×".join(str(d or "?") for d in tap.shape), f"{tap.weight:g}", tap.name))
    return "\n".join(lines + _table(rows))


def _runs_here(path: Path, metadata: Metadata) -> str:
    refusal = preparation.refusal(metadata.prepared, native=True, provider_is_cpu=True)
    return (
        f"not at all: {refusal}" if refusal else running_form(summarize_file(path), native=True, on_cpu=True)
    )


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
