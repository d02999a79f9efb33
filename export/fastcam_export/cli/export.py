"""`fastcam export`: write the same network with saliency maps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser
from fastcam_runtime.contract import TapInfo
from fastcam_runtime.model.description import value_lines
from fastcam_runtime.text import count, one_line

from ..api import export
from .arguments import add_graft_options, default_target, graft_options


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser(
        "export",
        allow_abbrev=False,
        description="Write the same network with saliency maps as added outputs.",
        epilog="example: fastcam export model.onnx --outputs saliency_map,cam --labels labels.txt",
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("out", metavar="OUT", nargs="?", help="default: NAME-fastcam.onnx")
    add_graft_options(command)
    command.set_defaults(handler=run)


def run(args: argparse.Namespace) -> None:
    """Export, and print what was written."""
    out = default_target(args.model) if args.out is None else args.out
    exported = export(args.model, out, **graft_options(args))
    for note in exported.notes:
        print(f"note: {one_line(note)}", file=sys.stderr)
    said = exported.metadata
    for line in value_lines(said.preprocess, said.resize, said.labels, said.provenance):
        print(one_line(line))
    scales = _sizes(exported.metadata.taps)
    prepared = f", prepared for {exported.metadata.prepared}" if args.prepared else ""
    print(f"{exported}: {scales}, outputs {', '.join(exported.metadata.outputs)}{prepared}")


def _sizes(taps: Sequence[TapInfo]) -> str:
    """`2 scales (16×16, 8×8)`, or in words where the network leaves height and width free."""
    sizes = [tap.shape[2:] for tap in taps]
    if not any(side for size in sizes for side in size):
        return f"{count(len(taps), 'scale')} of free size"
    listed = ", ".join("×".join(str(side or "free") for side in size) for size in sizes)
    return f"{count(len(taps), 'scale')} ({listed})"
