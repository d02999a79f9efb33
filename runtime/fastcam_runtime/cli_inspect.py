"""`fastcam inspect`: the options; a grafted file is described here, a plain network by the exporter."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .branch import Summary, summarize_file
from .contract import METADATA_KEY
from .errors import ModelError
from .inspection import describe_graft
from .workstation import import_commands

MODEL_HELP = "file.onnx, torchvision:NAME, timm:NAME, or package.module:factory"


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "inspect",
        allow_abbrev=False,
        help="show the scales of a network, or what a grafted file contains",
        description="Show the scales of a network and the taps chosen, or what a grafted file contains.",
    )
    parser.set_defaults(handler=run)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    add_analysis_options(parser)


def add_analysis_options(command: argparse.ArgumentParser) -> None:
    """Where in the network to look."""
    command.add_argument(
        "--taps", default="auto", metavar="NAMES", help="auto, or tensor names, shallow to deep"
    )
    command.add_argument(
        "--scores", metavar="OUTPUT", help="the output with the class scores, where there are several"
    )
    command.add_argument("--input-shape", metavar="N,C,H,W", help="for dimensions that the model leaves free")


def run(args: argparse.Namespace) -> int:
    """Print what there is to know of a model."""
    path = Path(args.model)
    file = _grafted(path)
    if file is not None:
        print(describe_graft(path, file))
    else:
        import_commands("inspect of a plain network").inspect(args)
    return 0


def _grafted(path: Path) -> Summary | None:
    """What a grafted file says of itself; None for all else, about which the exporter has more to say."""
    if not path.is_file():
        return None
    try:
        file = summarize_file(path)
    except ModelError:
        return None
    return file if METADATA_KEY in file.metadata else None
