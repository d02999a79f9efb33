"""The options of `fastcam quantize`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser
from fastcam_runtime.cli.output_paths import check_json_path, refuse_overwriting, write_json
from fastcam_runtime.contract import PREPROCESS, RESIZE
from fastcam_runtime.measure.paired import BenchOptions
from fastcam_runtime.measure.system import overflows_int8
from fastcam_runtime.model.pruning import cut_file
from fastcam_runtime.text import one_line

from ..api import export
from ..quantize.calibration import MOST, split
from ..quantize.comparison import compare
from ..quantize.quantizing import quantize
from ..save.draft import check_target
from ..save.interruption import temporary_folder
from ..tune.pictures import read_pictures
from .arguments import default_target

_DESCRIPTION = """\
Write the int8 form of a float32 network, and report how far the two agree.

The ranges of the activations are taken from your pictures, prepared as the file states or as --preprocess and
--resize say. One picture in four is held out: on those the report compares the class, the saliency map, the
size and the time. Constants are folded first, then onnxruntime quantises (QDQ, one scale per weight channel).
Weights use 7 of 8 bits, which is right on every processor; --full-range is for those that can take 8.
The result is a plain network: graft it with fastcam export.
"""

_EPILOG = """\
examples:
  fastcam quantize model.onnx --pictures photos/
  fastcam quantize model.onnx model-trt.onnx --pictures 'photos/*.jpg' --symmetric
"""


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser(
        "quantize",
        allow_abbrev=False,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("out", metavar="OUT", nargs="?", help="default: NAME-int8.onnx")
    command.add_argument(
        "--pictures",
        required=True,
        metavar="INPUT",
        help=f"a folder, 'photos/*.jpg' or a video, such as the device will see; {MOST} at most are used",
    )
    command.add_argument(
        "--symmetric", action="store_true", help="int8 with all zero points at 0, as TensorRT requires"
    )
    command.add_argument(
        "--full-range",
        action="store_true",
        help="8-bit weights: closer to float32 on ARM, TensorRT and x86 with VNNI, wrong on other x86",
    )
    command.add_argument("--rounds", type=int, default=50, metavar="N", help="runs of each file (50)")
    command.add_argument("--threads", type=int, metavar="N", help="threads of the network (cores, 4 at most)")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the report to FILE")
    command.add_argument(
        "--preprocess", metavar="P", help=f"{' | '.join(PREPROCESS)} | JSON (default: what the file states)"
    )
    command.add_argument("--resize", default="stretch", metavar="R", help=" | ".join(RESIZE))
    command.add_argument("--input-shape", metavar="N,C,H,W", help="for dimensions that the model leaves free")
    command.set_defaults(handler=run)


def run(args: argparse.Namespace) -> None:
    """Quantise, compare, print the report."""
    options = BenchOptions(threads=args.threads, rounds=args.rounds)
    out = check_target(default_target(args.model, "int8") if args.out is None else args.out)
    if args.json is not None:
        check_json_path(args.json)
        refuse_overwriting([args.model, args.pictures], [args.json])
    seen, held_out = split(read_pictures(args.pictures, MOST))
    graft_options = {"resize": args.resize, "input_shape": args.input_shape}
    with temporary_folder("fastcam-quantize-") as folder:
        grafted = {"float32": folder / "float32.onnx", "int8": folder / "int8.onnx"}
        metadata = export(
            args.model, grafted["float32"], preprocess=args.preprocess, **graft_options
        ).metadata
        made = quantize(args.model, out, seen, metadata, symmetric=args.symmetric, full_range=args.full_range)
        # The preprocessing is the same in both, whether the file states it or the user.
        export(made.path, grafted["int8"], preprocess=metadata.preprocess, **graft_options)
        plain = folder / "plain.onnx"
        plain.write_bytes(cut_file(grafted["float32"]))
        comparison = compare({"float32": plain, "int8": made.path}, grafted, held_out, options)
    for note in made.notes:
        print(f"note: {one_line(note)}", file=sys.stderr)
    if args.full_range and overflows_int8():
        print("note: this processor has no VNNI: sums of 8-bit products overflow here", file=sys.stderr)
    print(comparison)
    print(f"{made.path}: int8 from {len(seen)} pictures; add maps with: fastcam export {made.path}")
    if args.json is not None:
        write_json(args.json, {"file": str(made.path), "calibrated_on": len(seen), **comparison.as_dict()})
