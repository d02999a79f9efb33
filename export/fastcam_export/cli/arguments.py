"""Command-line arguments that more than one command has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fastcam_runtime.cli.arguments import add_analysis_options
from fastcam_runtime.contract import PREPROCESS, RESIZE

from ..method.normalize import NORMALIZATIONS
from ..method.statistics import STATISTICS
from ..method.weights import PRESETS


def add_map_options(command: argparse.ArgumentParser) -> None:
    """What the maps are made of, and what a frame has to go through; read them with `map_options`."""
    command.add_argument("--statistic", default="smoe", metavar="NAME", help=" | ".join(STATISTICS))
    command.add_argument("--normalize", default="gauss", metavar="NAME", help=" | ".join(NORMALIZATIONS))
    command.add_argument("--weights", metavar="W", help=f"{' | '.join(PRESETS)} | w1,w2,…")
    command.add_argument("--epsilon", type=float, default=1e-6, metavar="E", help="default: 1e-6")
    command.add_argument("--labels", type=Path, metavar="FILE", help="class names, one per line")
    command.add_argument(
        "--preprocess", metavar="P", help=f"{' | '.join(PREPROCESS)} | JSON (default: imagenet)"
    )
    command.add_argument("--resize", default="stretch", metavar="R", help=f"{' | '.join(RESIZE)}")
    add_analysis_options(command)


def map_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of the graft that `add_map_options` asked for, as the user wrote them."""
    return {
        "statistic": args.statistic,
        "normalize": args.normalize,
        "weights": args.weights,
        "epsilon": args.epsilon,
        "labels": args.labels,
        "preprocess": args.preprocess,
        "resize": args.resize,
        "taps": args.taps,
        "input_shape": args.input_shape,
        "scores": args.scores,
    }


def default_target(model: str, ending: str = "fastcam") -> Path:
    """Beside the user, not beside the source: the source's folder may not be theirs."""
    path = Path(model)
    name = path.stem if path.suffix.lower() == ".onnx" else model.rpartition(":")[2]
    return Path(f"{name}-{ending}.onnx")
