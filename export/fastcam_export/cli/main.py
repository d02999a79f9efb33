"""The commands that need the exporter, and `inspect` of a plain network."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

from fastcam_runtime.cli.arguments import Parser, parse

from ..save.interruption import interrupted_once
from . import check, demo, evaluate, export, quantize, tune
from . import inspect as plain

COMMANDS = (export, check, tune, evaluate, demo, quantize)


def main(argv: Sequence[str]) -> int:
    """Run one of the commands; `argv` starts with its name."""
    parser = Parser(prog="fastcam")
    commands = parser.add_subparsers(required=True)
    for command in COMMANDS:
        command.add_parser(commands)
    args = parse(parser, commands.choices, argv)
    _silence_others()
    with interrupted_once():
        code: int | None = args.handler(args)
    return code or 0


def inspect(args: argparse.Namespace) -> None:
    """Print the scales of a plain network; the runtime has parsed the arguments."""
    _silence_others()
    with interrupted_once():
        plain.run(args)


def _silence_others() -> None:
    """Drop onnx_ir's warnings about odd files: what matters of them is in our one line."""
    logging.getLogger("onnx_ir").setLevel(logging.CRITICAL)
