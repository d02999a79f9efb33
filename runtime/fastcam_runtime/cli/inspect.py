"""`fastcam inspect`: the options; a grafted file is described here, a plain network by the exporter."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ..contract import METADATA_KEY
from ..errors import ModelError
from ..model.description import describe_graft
from ..model.file import Summary, is_ort, summarize_file
from ..model.ort_format import summarize_ort
from ..model.session import open_session
from .arguments import MODEL_HELP, add_analysis_options
from .workstation import import_commands


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "inspect",
        help="show the scales of a network, or what a grafted file contains",
        description="Show the scales of a network and the taps chosen, or what a grafted file contains.",
    )
    parser.set_defaults(handler=run)
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument(
        "--flops",
        action="store_true",
        help="count the operations of the maps per scale, as in the paper's table",
    )
    add_analysis_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the description of a model."""
    path = Path(args.model)
    # A damaged file is reported on a device too, without the exporter.
    file = None if _names_torch_model(args.model) else _summarize(path)
    if file is not None and METADATA_KEY in file.metadata:
        if args.flops:
            raise ModelError(f"{path} is grafted; --flops counts the maps of the plain network")
        print(describe_graft(path, file))
    elif is_ort(path):
        raise ModelError(f"{path} has no saliency maps; inspect the .onnx file that it was made from")
    else:
        import_commands().inspect(args)
    return 0


def _summarize(path: Path) -> Summary:
    return summarize_ort(path, open_session(path, threads=1)) if is_ort(path) else summarize_file(path)


def _names_torch_model(model: str) -> bool:
    """Whether this may be one of the names in `MODEL_HELP`; the exporter looks closer."""
    return ":" in model and not os.path.lexists(model)
