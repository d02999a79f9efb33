"""Command-line arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from fastcam_runtime.cli.arguments import add_analysis_options
from fastcam_runtime.contract import OUTPUTS, PREPROCESS, RESIZE

from ..choices import (
    CAM_METHODS,
    CLASS_INPUTS,
    MAP_OUTPUTS,
    NORMALIZATIONS,
    PAPER,
    STATISTICS,
    WEAK,
    WEIGHTS,
)  # fmt: skip
from ..deploy.targets import TARGETS
from ..options import Options

ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "outputs": {"metavar": "LIST", "help": f"all | any of {','.join(OUTPUTS)} (default: saliency_map)"},
    "statistic": {
        "metavar": "NAME",
        "help": f"{' | '.join(STATISTICS)} (default: %(default)s); "
        f"{' and '.join(WEAK)} give poor maps, see docs/quality.md",
    },
    "normalize": {"metavar": "NAME", "help": f"{' | '.join(NORMALIZATIONS)} (default: %(default)s)"},
    "weights": {"metavar": "W", "help": f"{' | '.join(WEIGHTS)} | w1,w2,…"},
    "epsilon": {"metavar": "E", "type": float, "help": "default: %(default)s"},
    "cam": {
        "metavar": "NAME",
        "help": f"{' | '.join(CAM_METHODS)} (default: {CAM_METHODS[0]}, and the score grid of a detector)",
    },
    "paper": {
        "action": "store_true",
        "help": "exactly the paper's choices: " + ", ".join(f"{k} {v}" for k, v in PAPER.items() if v),
    },
    "class_input": {
        "metavar": "KIND",
        "help": f"{' | '.join(CLASS_INPUTS)}: for runtimes without optional inputs (JavaScript, OpenVINO)",
    },
    "labels": {"metavar": "FILE", "type": Path, "help": "class names, one per line"},
    "preprocess": {
        "metavar": "P",
        "help": f"{' | '.join(PREPROCESS)} | JSON (default: what the file says, else imagenet)",
    },
    "resize": {"metavar": "R", "help": f"{' | '.join(RESIZE)} (default: what the file says, else stretch)"},
    "inline": {"action": "store_true", "help": "no ONNX functions, for runtimes that do not support them"},
    "target": {"metavar": "NAME", "help": f"{' | '.join(TARGETS)}: only operators that it has"},
    "frame_input": {
        "metavar": "HxW[xRGBA]",
        "help": "take the camera's uint8 frame of this size; resize and normalise in the graph",
    },
    "map_output": {
        "metavar": "KIND",
        "help": f"{' | '.join(MAP_OUTPUTS)}: the combined map as bytes too, or as an overlay layer",
    },
    "prepared": {
        "action": "store_true",
        "help": "for this device only: usually the cheapest, and the fastest to load; runs on no other kind "
        "of processor and no other release of onnxruntime",
    },
}
"""How the command line shows fields of `Options`; `add_analysis_options` adds those that `inspect` shares."""


def add_graft_options(command: argparse.ArgumentParser, leave_out: Collection[str] = ()) -> None:
    """Add the options of the graft, except those in `leave_out`; read them with `graft_options`."""
    for name, settings in ARGUMENTS.items():
        if name not in leave_out:
            option = f"--{name.replace('_', '-')}"
            command.add_argument(option, default=getattr(Options, name), **settings)
    add_analysis_options(command)


def graft_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of `Options` that the command line has, as the user wrote them."""
    return {field.name: getattr(args, field.name) for field in fields(Options) if hasattr(args, field.name)}


def default_target(model: str, ending: str = "fastcam") -> Path:
    """The default output, in the current folder: the source's folder may not be writable."""
    path = Path(model)
    name = path.stem if path.suffix.lower() == ".onnx" else model.rpartition(":")[2]
    return Path(f"{name}-{ending}.onnx")
