"""The options of `fastcam quantize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastcam_runtime.cli.arguments import MODEL_HELP, Parser, add_threads
from fastcam_runtime.contract import PREPROCESS, RESIZE

from ...choices import MOST_CALIBRATED

_DESCRIPTION = """\
Write the int8 form of a float32 network, and report how far the two agree.

The ranges of the activations come from your pictures, preprocessed as the file states or as --preprocess and
--resize say. One picture in four is held out, to compare the classes and the saliency maps. The report also
has file sizes and times. Constants are folded first, then onnxruntime quantises (QDQ, one scale per weight
channel).
Weights use 7 of 8 bits, which is correct on every processor; --full-range is for processors that can use 8.
The result is a plain network: graft it with fastcam export.
"""

_EPILOG = """\
examples:
  fastcam quantize model.onnx --pictures photos/
  fastcam quantize model.onnx model-trt.onnx --pictures 'photos/*.jpg' --symmetric
"""


def add_parser(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    command = commands.add_parser("quantize", description=_DESCRIPTION, epilog=_EPILOG)
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("out", metavar="OUT", nargs="?", help="default: NAME-int8.onnx")
    command.add_argument(
        "--pictures",
        required=True,
        metavar="INPUT",
        help="a folder, 'photos/*.jpg' or a video, such as the device will see; "
        f"{MOST_CALIBRATED} at most are used",
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
    add_threads(command)
    command.add_argument("--json", type=Path, metavar="FILE", help="write the report to FILE")
    command.add_argument(
        "--preprocess", metavar="P", help=f"{' | '.join(PREPROCESS)} | JSON (default: what the file states)"
    )
    command.add_argument(
        "--resize", metavar="R", help=f"{' | '.join(RESIZE)} (default: what the file states, else stretch)"
    )
    command.add_argument("--input-shape", metavar="N,C,H,W", help="for dimensions that the model leaves free")
