"""The workstation's commands: `fastcam export`, `fastcam inspect` and `fastcam demo`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fastcam_runtime.contract import OUTPUTS, PREPROCESS, RESIZE

from .api import export
from .demo import command as demo_command
from .errors import GraftError
from .inspection import describe
from .labels import read_labels
from .normalize import NORMALIZATIONS
from .options import CAM_METHODS, Options
from .statistics import STATISTICS
from .weights import PRESETS

MODEL_HELP = "file.onnx, torchvision:NAME, timm:NAME, or package.module:factory"


def main(argv: Sequence[str]) -> int:
    """Run one of the workstation's commands; `argv` starts with its name."""
    args = _parser().parse_args(argv)
    code: int | None = args.handler(args)
    return code or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fastcam")
    commands = parser.add_subparsers(required=True)
    _add_export(commands)
    _add_inspect(commands)
    demo_command.add_parser(commands)
    return parser


def _add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "export",
        description="Write the same network with saliency maps as added outputs.",
        epilog="example: fastcam export model.onnx --outputs saliency_map,cam --labels labels.txt",
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    command.add_argument("out", metavar="OUT", nargs="?", type=Path, help="default: NAME-fastcam.onnx")
    command.add_argument(
        "--outputs", default="saliency_map", metavar="LIST", help=f"any of {','.join(OUTPUTS)}"
    )
    command.add_argument("--statistic", default="smoe", metavar="NAME", help=" | ".join(STATISTICS))
    command.add_argument("--normalize", default="gauss", metavar="NAME", help=" | ".join(NORMALIZATIONS))
    command.add_argument("--weights", metavar="W", help=f"{' | '.join(PRESETS)} | w1,w2,…")
    command.add_argument("--epsilon", type=float, default=1e-6, metavar="E", help="default: 1e-6")
    command.add_argument("--cam", default="gradcam++", metavar="NAME", help=" | ".join(CAM_METHODS))
    command.add_argument("--labels", type=Path, metavar="FILE", help="class names, one per line")
    command.add_argument(
        "--preprocess", metavar="P", help=f"{' | '.join(PREPROCESS)} | JSON (default: imagenet)"
    )
    command.add_argument("--resize", default="stretch", metavar="R", help=f"{' | '.join(RESIZE)}")
    command.add_argument(
        "--inline", action="store_true", help="no ONNX functions, for consumers that know none"
    )
    _add_analysis_options(command)
    command.set_defaults(handler=_export)


def _add_inspect(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "inspect",
        description="Show the scales of a network and the taps chosen, or what a grafted file contains.",
    )
    command.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    _add_analysis_options(command)
    command.set_defaults(handler=_inspect)


def _add_analysis_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--taps", default="auto", metavar="NAMES", help="auto, or tensor names, shallow to deep"
    )
    command.add_argument("--input-shape", metavar="N,C,H,W", help="for dimensions that the model leaves free")


def _export(args: argparse.Namespace) -> None:
    out = args.out or _default_target(args.model)
    exported = export(
        args.model, out, outputs=tuple(args.outputs.split(",")), statistic=args.statistic,
        normalize=args.normalize,
        weights=_numbers_or_name(args.weights), epsilon=args.epsilon, taps=args.taps, cam=args.cam,
        input_shape=_shape(args.input_shape), labels=read_labels(args.labels) if args.labels else None,
        preprocess=args.preprocess, resize=args.resize, inline=args.inline,
    )  # fmt: skip
    for note in exported.notes:
        print(f"note: {note}", file=sys.stderr)
    taps = exported.metadata.taps
    scales = ", ".join(f"{tap.shape[2] or '?'}×{tap.shape[3] or '?'}" for tap in taps)
    print(f"{out}: {len(taps)} scales ({scales}), outputs {', '.join(exported.metadata.outputs)}")


def _inspect(args: argparse.Namespace) -> None:
    print(describe(args.model, Options(taps=args.taps, input_shape=_shape(args.input_shape))))


def _default_target(model: str) -> Path:
    """Beside the user, not beside the source: the source's folder may not be theirs."""
    name = model.rpartition(":")[2] if not model.endswith(".onnx") else Path(model).stem
    return Path(f"{name}-fastcam.onnx")


def _numbers_or_name(text: str | None) -> str | list[float] | None:
    if text is None or text in PRESETS:
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text  # the graft names the presets in its error


def _shape(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.replace("x", ",").split(",")]
    except ValueError:
        raise GraftError(
            f"--input-shape {text}: four whole numbers are needed, such as 1,3,224,224"
        ) from None
