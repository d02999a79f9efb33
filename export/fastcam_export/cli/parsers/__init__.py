"""The options of each command. Nothing here needs onnx: a device shows the help too."""

from __future__ import annotations

import argparse

from fastcam_runtime.cli.arguments import Parser

from . import check, demo, evaluate, export, quantize, tune

COMMANDS = {
    "export": export,
    "check": check,
    "tune": tune,
    "evaluate": evaluate,
    "demo": demo,
    "quantize": quantize,
}
"""The module of the options of each command; the module of the same name one folder up implements it."""


def add_parsers(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add all commands to the parsers of `fastcam`."""
    for command in COMMANDS.values():
        command.add_parser(commands)
