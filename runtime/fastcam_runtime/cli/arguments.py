"""Command lines: options that several commands share, and error messages of one line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..errors import FastcamError, closest

MODEL_HELP = "file.onnx, torchvision:NAME, timm:NAME, or package.module:factory"
_OPTION = re.compile(r"--?[A-Za-z]")
"""The start of an option; `-1` is a number."""
_NEGATIVE = re.compile(r"-[\d.]")


class Parser(argparse.ArgumentParser):
    """A parser that reports errors as a `FastcamError` of one line, for sub-commands too.

    Options cannot be abbreviated. Descriptions and epilogs of several lines are printed as they are.
    """

    def __init__(self, description: str = "", epilog: str = "", **settings: Any) -> None:
        as_it_is, wrapped = argparse.RawDescriptionHelpFormatter, argparse.HelpFormatter
        settings["formatter_class"] = as_it_is if "\n" in description + epilog else wrapped
        super().__init__(description=description, epilog=epilog, allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            FastcamError: Always.
        """
        raise FastcamError(f"{message}; see {self.prog} --help")


def parse(parser: Parser, commands: Mapping[str, Parser], argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line whose first word is one of `commands`, the sub-commands of `parser`.

    Raises:
        FastcamError: The command line is wrong. For an unknown option the message names the closest one.
        SystemExit: Help was requested.
    """
    command = commands.get(argv[0]) if argv else None
    if command is None:
        _check(parser, argv[:1], " before a command")
        return parser.parse_args(argv)
    words = _attach_negative(command, argv[1:])
    _check(command, words)
    if "--" in words:
        return command.parse_args(words)
    # Outputs may follow options. argparse supports that only without sub-commands and without `--`.
    return command.parse_intermixed_args(words)


def _attach_negative(parser: Parser, argv: Sequence[str]) -> list[str]:
    """Turn `--weights -1,1` into `--weights=-1,1`: argparse would take such a value for an option."""
    attached: list[str] = []
    for word in argv:
        option = parser._option_string_actions.get(attached[-1]) if attached else None
        if option is not None and option.nargs != 0 and _NEGATIVE.match(word):
            attached[-1] += f"={word}"
        else:
            attached.append(word)
    return attached


def _check(parser: Parser, argv: Sequence[str], where: str = "") -> None:
    """Refuse the first option that `parser` does not know.

    This runs before argparse, which would take the value of a mistyped option for an output file, and would
    report a mistyped required option as missing.
    """
    options = parser._option_string_actions
    for word in argv:
        if word == "--":
            return
        name = word.partition("=")[0]
        # Like argparse: a word with a space is not an option.
        if _OPTION.match(name) and " " not in name and name not in options:
            raise FastcamError(f"{name}: no such option{where}{closest(name, options, most=1)}")


def refuse_below_one(args: argparse.Namespace, *names: str) -> None:
    """Refuse options with a number below 1; an option that was not given is None.

    Raises:
        FastcamError: One of `names` is below 1.
    """
    for name in names:
        value = getattr(args, name)
        if value is not None and value < 1:
            raise FastcamError(f"--{name} {value}: at least 1 is needed")


def add_threads(command: argparse._ActionsContainer) -> None:
    """Add the option for the threads of the network."""
    command.add_argument("--threads", type=int, metavar="N", help="threads of the network (cores, 4 at most)")


def add_provider(command: argparse._ActionsContainer) -> None:
    """Add the option for onnxruntime's execution provider."""
    command.add_argument(
        "--provider", default="auto", metavar="NAME", help="auto|cpu|cuda|tensorrt|openvino|…"
    )


def add_speed_switches(command: argparse._ActionsContainer) -> None:
    """Add the switches that leave out what makes a file fast on this device."""
    command.add_argument("--no-native", dest="compiled", action="store_false", help="no compiled kernels")
    command.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="neither use nor keep the file as prepared for this device; see 'fastcam cache'",
    )


def add_analysis_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say which tensors of the network to use."""
    command.add_argument(
        "--taps", default="auto", metavar="NAMES", help="auto, or tensor names, shallow to deep"
    )
    command.add_argument(
        "--scores", metavar="OUTPUT", help="the output with the class scores, if there are several"
    )
    command.add_argument(
        "--input-shape", metavar="N,C,H,W", help="sizes for dimensions that the model leaves free"
    )
    command.add_argument(
        "--head",
        metavar="H",
        help="auto | none | a family such as yolox | JSON: a detector's head (default: auto)",
    )


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from `640x480`; a type for argparse."""
    match = re.fullmatch(r"(\d+)[x×](\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, e.g. 640x480")
    return int(match[1]), int(match[2])
