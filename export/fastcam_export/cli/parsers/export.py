"""The options of `fastcam export`."""

from __future__ import annotations

import argparse

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser

from ..arguments import add_graft_options


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser(
        "export",
        description="Write the same network with saliency maps as added outputs.",
        epilog="example: fastcam export model.onnx --outputs saliency_map,cam --labels labels.txt",
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("out", metavar="OUT", nargs="?", help="default: NAME-fastcam.onnx")
    add_graft_options(command)
