"""The options of `fastcam check`."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastcam_runtime.cli.arguments import Parser, add_analysis_options

_DESCRIPTION = """\
Run a network on your photos with every usual preprocessing (channel order, range, mean and standard
deviation, resize), and print which one fits best: the one with the highest probability for the expected class
or, without --expect, for the class that the network names for both a photo and its mirror image.

Photos in folders named after their class (folder/tabby/1.jpg) need no --expect.
"""


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser(
        "check",
        description=_DESCRIPTION,
        epilog="example: fastcam check model.onnx cat.jpg --expect tabby --labels labels.txt",
    )
    command.add_argument("model", metavar="MODEL", help="file.onnx, not grafted")
    command.add_argument("photos", metavar="PHOTO", nargs="+", help="pictures, or folders of them")
    command.add_argument("--expect", metavar="NAME", help="the photos' class: a label or an index")
    command.add_argument("--labels", metavar="FILE", type=Path, help="class names, one per line")
    add_analysis_options(command)
