"""The options of `fastcam evaluate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser, add_threads

from ..arguments import add_graft_options

_DESCRIPTION = """\
Measure how good the maps of a file are, on your pictures.

Pixels are inserted and deleted in the order of the map, and the network scores each picture: a good map finds
the pixels that the network needs. Maps that do not depend on the network (random, blobs, centre, edges) are
baselines. Shuffled weights show whether the map depends on what the network has learnt.
"""

_EPILOG = """\
A plain network gets the outputs saliency_map, cam and fastcam first; the options for maps apply only to it.
Ctrl-C ends the measurement and prints the results so far.

examples:
  fastcam evaluate model-fastcam.onnx photos/
  fastcam evaluate model.onnx photos/ --preprocess imagenet --html report.html --json figures.json
  fastcam evaluate model-fastcam.onnx coco/photos --boxes coco/instances.json --video cars.mp4
"""


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser("evaluate", description=_DESCRIPTION, epilog=_EPILOG)
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument(
        "pictures", metavar="PICTURES", help="a folder, or a pattern in quotes: 'photos/*.jpg'"
    )
    command.add_argument("more", nargs="*", help=argparse.SUPPRESS)  # of a pattern without quotes: refused
    command.add_argument(
        "--boxes",
        type=Path,
        metavar="FILE",
        help="objects: COCO JSON, or a folder of masks or trimaps: photo_mask.png or photo.png for photo.jpg",
    )
    command.add_argument("--video", metavar="FILE", help="measure the flicker on this video too")
    command.add_argument("--count", type=int, metavar="N", help="take N pictures, evenly spread (all)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random maps (0)")
    add_threads(command)
    command.add_argument("--no-sanity", dest="sanity", action="store_false", help="no shuffled weights")
    command.add_argument(
        "--json", type=Path, metavar="FILE", help="write every figure of every picture; - prints it"
    )
    command.add_argument("--html", type=Path, metavar="FILE", help="write a report with plots and pictures")
    unused = ("outputs", "class_input", "frame_input", "map_output", "inline", "prepared")
    before = len(command._actions)
    add_graft_options(command, leave_out=unused)
    for action in command._actions[before:]:
        # Only options that are given are in the result: for a file with maps they are refused.
        action.help = (action.help or "").replace("%(default)s", str(action.default))
        action.default = argparse.SUPPRESS
