"""The workstation's commands: `export`, `tune`, `quantize`, `demo`, and `inspect` of a plain network."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser, parse
from fastcam_runtime.contract import OUTPUTS, TapInfo
from fastcam_runtime.text import count

from ..api import export
from ..cam import CAM_METHODS
from ..options import CLASS_INPUTS, Options
from ..save.interruption import interrupted_once
from . import demo as demo_command
from . import quantize as quantize_command
from . import tune as tune_command
from .arguments import add_map_options, default_target, map_options
from .inspect import describe


def main(argv: Sequence[str]) -> int:
    """Run one of the workstation's commands; `argv` starts with its name."""
    args = parse(*_parsers(), argv)
    with interrupted_once():
        code: int | None = args.handler(args)
    return code or 0


def inspect(args: argparse.Namespace) -> None:
    """Print the scales of a plain network; the options are those of `fastcam_runtime.cli_inspect`."""
    with interrupted_once():
        print(describe(args.model, Options(taps=args.taps, input_shape=args.input_shape, scores=args.scores)))


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and those of its commands by name."""
    parser = Parser(prog="fastcam")
    commands = parser.add_subparsers(required=True)
    _add_export(commands)
    tune_command.add_parser(commands)
    demo_command.add_parser(commands)
    quantize_command.add_parser(commands)
    return parser, commands.choices


def _add_export(commands: argparse._SubParsersAction[Parser]) -> None:
    command = commands.add_parser(
        "export",
        allow_abbrev=False,
        description="Write the same network with saliency maps as added outputs.",
        epilog="example: fastcam export model.onnx --outputs saliency_map,cam --labels labels.txt",
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("out", metavar="OUT", nargs="?", help="default: NAME-fastcam.onnx")
    command.add_argument(
        "--outputs", default="saliency_map", metavar="LIST", help=f"any of {','.join(OUTPUTS)}"
    )
    command.add_argument("--cam", default=Options.cam, metavar="NAME", help=" | ".join(CAM_METHODS))
    command.add_argument(
        "--class-input",
        default="optional",
        metavar="KIND",
        help=f"{' | '.join(CLASS_INPUTS)}: for runtimes that know no optional inputs (JavaScript, OpenVINO)",
    )
    command.add_argument(
        "--inline", action="store_true", help="no ONNX functions, for consumers that know none"
    )
    command.add_argument(
        "--prepared",
        action="store_true",
        help="laid out for this very device: mostly the cheapest, loads fastest, runs on no other kind of "
        "processor and no other release of onnxruntime",
    )
    add_map_options(command)
    command.set_defaults(handler=_export)


def _export(args: argparse.Namespace) -> None:
    out = default_target(args.model) if args.out is None else args.out
    exported = export(
        args.model, out, outputs=args.outputs, cam=args.cam, class_input=args.class_input, inline=args.inline,
        prepared=args.prepared,
        **map_options(args),
    )  # fmt: skip
    for note in exported.notes:
        print(f"note: {note}", file=sys.stderr)
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
