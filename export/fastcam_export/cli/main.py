"""The commands that need the exporter, and `inspect` of a plain network."""

from __future__ import annotations

import argparse
import importlib
import logging
from collections.abc import Sequence

from fastcam_runtime.cli.arguments import Parser, parse
from fastcam_runtime.cli.workstation import needs_extra

from ..save.interruption import interrupted_once
from .parsers import add_parsers


def main(argv: Sequence[str]) -> int:
    """Run one of the commands; `argv` starts with its name.

    Help and mistakes on the command line need no onnx: the command's own module is imported after them.
    """
    parser, commands = _parsers()
    return _run(argv[0], argv[0], parse(parser, commands, argv))


def parsers() -> dict[str, Parser]:
    """The parsers of the commands by name."""
    return _parsers()[1]


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    parser = Parser(prog="fastcam")
    commands = parser.add_subparsers(required=True)
    add_parsers(commands)
    return parser, commands.choices


def inspect(args: argparse.Namespace) -> None:
    """Print the scales of a plain network; the runtime has parsed the arguments."""
    _run("inspect", "inspect of a plain network", args)


def _run(command: str, what: str, args: argparse.Namespace) -> int:
    with needs_extra(what):
        module = importlib.import_module(f".{command}", __package__)
    _silence_others()
    with interrupted_once():
        code: int | None = module.run(args)
    return code or 0


def _silence_others() -> None:
    """Drop onnx_ir's warnings about odd files: our one-line error says what matters."""
    logging.getLogger("onnx_ir").setLevel(logging.CRITICAL)
