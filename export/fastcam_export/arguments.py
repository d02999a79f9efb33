"""Command-line arguments that more than one command has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fastcam_runtime.contract import PREPROCESS, RESIZE

from .errors import GraftError
from .labels import read_labels
from .normalize import NORMALIZATIONS
from .statistics import STATISTICS
from .weights import PRESETS

MODEL_HELP = "file.onnx, torchvision:NAME, timm:NAME, or package.module:factory"


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


def add_analysis_options(command: argparse.ArgumentParser) -> None:
    """Where in the network to look."""
    command.add_argument(
        "--taps", default="auto", metavar="NAMES", help="auto, or tensor names, shallow to deep"
    )
    command.add_argument("--input-shape", metavar="N,C,H,W", help="for dimensions that the model leaves free")


def map_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of the graft that `add_map_options` asked for.

    Raises:
        GraftError: The labels cannot be read, or the shape is no shape.
    """
    return {
        "statistic": args.statistic,
        "normalize": args.normalize,
        "weights": _numbers_or_name(args.weights),
        "epsilon": args.epsilon,
        "labels": read_labels(args.labels) if args.labels else None,
        "preprocess": args.preprocess,
        "resize": args.resize,
        "taps": args.taps,
        "input_shape": parse_shape(args.input_shape),
    }


def default_target(model: str, ending: str = "fastcam") -> Path:
    """Beside the user, not beside the source: the source's folder may not be theirs."""
    name = model.rpartition(":")[2] if not model.endswith(".onnx") else Path(model).stem
    return Path(f"{name}-{ending}.onnx")


def parse_shape(text: str | None) -> list[int] | None:
    """`1,3,224,224` as numbers.

    Raises:
        GraftError: They are not whole numbers.
    """
    if text is None:
        return None
    try:
        return [int(part) for part in text.replace("x", ",").split(",")]
    except ValueError:
        raise GraftError(
            f"--input-shape {text}: four whole numbers are needed, such as 1,3,224,224"
        ) from None


def _numbers_or_name(text: str | None) -> str | list[float] | None:
    if text is None or text in PRESETS:
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text  # the graft names the presets in its error
