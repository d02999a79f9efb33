"""The options of `fastcam quantize`."""

from __future__ import annotations

import argparse
import sys

from fastcam_runtime.cli.output_paths import check_json_path, refuse_overwriting, write_json
from fastcam_runtime.measure.paired import BenchOptions
from fastcam_runtime.measure.system import overflows_int8
from fastcam_runtime.model.pruning import cut_file

from ..api import export
from ..choices import MOST_CALIBRATED
from ..quantize.calibration import split
from ..quantize.comparison import compare
from ..quantize.quantizing import quantize
from ..save.draft import check_target
from ..save.interruption import temporary_folder
from ..tune.pictures import read_pictures
from .arguments import default_target
from .telling import tell_notes, tell_values


def run(args: argparse.Namespace) -> None:
    """Quantise, compare, print the report."""
    options = BenchOptions(threads=args.threads, rounds=args.rounds)
    out = check_target(default_target(args.model, "int8") if args.out is None else args.out)
    if args.json is not None:
        check_json_path(args.json)
        refuse_overwriting([args.model, args.pictures], [args.json])
    seen, held_out = split(read_pictures(args.pictures, MOST_CALIBRATED))
    with temporary_folder("fastcam-quantize-") as folder:
        grafted = {"float32": folder / "float32.onnx", "int8": folder / "int8.onnx"}
        metadata = export(
            args.model, grafted["float32"], preprocess=args.preprocess, resize=args.resize,
            input_shape=args.input_shape,
        ).metadata  # fmt: skip
        tell_values(metadata, sys.stderr)
        made = quantize(args.model, out, seen, metadata, symmetric=args.symmetric, full_range=args.full_range)
        # Both have the same preprocessing, from the file or from the user.
        export(
            made.path, grafted["int8"], preprocess=metadata.preprocess, resize=metadata.resize,
            input_shape=args.input_shape,
        )  # fmt: skip
        plain = folder / "plain.onnx"
        plain.write_bytes(cut_file(grafted["float32"]))
        comparison = compare({"float32": plain, "int8": made.path}, grafted, held_out, options)
    tell_notes(made.notes)
    if args.full_range and overflows_int8():
        print("note: this processor has no VNNI: sums of 8-bit products overflow here", file=sys.stderr)
    print(comparison)
    print(f"{made.path}: int8 from {len(seen)} pictures; add maps with: fastcam export {made.path}")
    if args.json is not None:
        write_json(args.json, {"file": str(made.path), "calibrated_on": len(seen), **comparison.as_dict()})
