"""The options of `fastcam tune`."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser, add_threads

from ...choices import TUNE_PICTURES
from ..arguments import add_graft_options

_DESCRIPTION = """\
Measure on this device what saliency maps cost, and write a file whose maps are within a budget.

The exact forms are measured first: as functions, which use compiled kernels if these were built; as standard
operators; and prepared for this device if possible. If none of them is within the budget, cheaper forms
follow: maps without the largest scales, or from a part of their channels. These are approximations, and the
files say so.
"""

_EPILOG = """\
The form that is written is the one of --pick; on a terminal, the one that you name when asked; otherwise the
cheapest exact form within the budget, or else the approximation within it that is closest to the exact map.
If noise hides whether an exact form is within the budget, and the choice depends on it, up to four times as
many rounds are run. If that does not help, the exact form is written and the last line says so.

exit code: 0 a file was written; 1 no form is within the budget, or you chose none; 2 an error

examples:
  fastcam tune model.onnx --budget 5% --images 'photos/*.jpg'
  fastcam tune model.onnx --budget 0.5ms --images clip.mp4 --threads 1 --json tune.json
  fastcam tune model.onnx --budget 5% --pick without-1 --out model-fast.onnx
"""


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser("tune", description=_DESCRIPTION, epilog=_EPILOG)
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument(
        "--budget", required=True, metavar="B", help="5%% (of the plain network's time), 5, or 0.5ms"
    )
    command.add_argument(
        "--images",
        default=TUNE_PICTURES,
        metavar="INPUT",
        help="pictures to compare maps on: 'photos/*.jpg', a folder, clip.mp4, test:// (the built-in clip)",
    )
    command.add_argument("--out", metavar="FILE", help="default: NAME-tuned.onnx")
    command.add_argument("--pick", metavar="NAME", help="write this form, within the budget or not")
    command.add_argument("--rounds", type=int, default=100, metavar="N", help="runs of each form (100)")
    add_threads(command)
    command.add_argument("--no-native", dest="compiled", action="store_false", help="no compiled kernels")
    command.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to FILE")
    add_graft_options(
        command, leave_out=("outputs", "cam", "class_input", "frame_input", "inline", "prepared")
    )
