"""The command `fastcam`: one parser, one place where errors become one line and exit code 2."""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

import onnxruntime as ort

from .. import native, start
from ..errors import FastcamError, guarded
from ..model.device import package_version
from ..model.watching import LastResort, Trials
from ..sources.live_source import is_hanging
from ..text import one_line, printable
from . import bench as cli_bench
from . import cache as cli_cache
from . import completion as cli_completion
from . import inspect as cli_inspect
from . import recover as cli_recover
from . import run as cli_run
from . import signals
from . import web as cli_web
from .arguments import Parser, parse
from .workstation import import_commands

_EXPORT_COMMANDS = {
    "export": "put saliency maps into an ONNX file",
    "check": "find the preprocessing that fits a network, on your photos",
    "demo": "the shipped model on the shipped clip",
    "tune": "find the best maps that cost no more than a budget on this device",
    "quantize": "write the int8 form of a network, and how far the two agree",
    "evaluate": "measure how good the maps of a file are on your pictures",
}
"""The commands of `fastcam_export`."""

_DEBUG = "--debug"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0; 2 for an error of the user; 130 after Ctrl-C)."""
    argv = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × or … gets a question mark
    argv, debug = _without_debug(argv)
    ort.set_default_logger_severity(4)  # failures are raised; onnxruntime would print some of them too
    Trials.limit()
    LastResort.end = lambda reason: signals.end_at_once(2, one_line(reason))
    try:
        start.started()
        with signals.faults_ended(), guarded(f"fastcam {argv[0]}" if argv else "fastcam"), _written():
            return _dispatch(argv)
    except FastcamError as error:
        if debug:
            traceback.print_exc()
        return _failed(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_output()  # its reader has gone
        return 0
    except OSError as error:
        # For example a folder without permission, or a name that is too long.
        where = f"{printable(str(error.filename))}: " if error.filename else _gone()
        if debug:
            traceback.print_exc()
        return _failed(f"{where}{error.strerror or error}")


@contextmanager
def _written() -> Iterator[None]:
    """Write the output at the end of the block: Python's own exit would report a full disk in its own way."""
    try:
        yield
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


def _failed(message: str) -> int:
    """Print an error; returns the exit code. What of the output cannot be written is dropped."""
    try:
        with _written():
            pass
    except OSError:
        _drop_output()
    with suppress(OSError):
        print(f"fastcam: error: {one_line(message)}", file=sys.stderr)
    return 2


def _drop_output() -> None:
    """Drop the output that is not written yet: Python would fail again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _gone() -> str:
    """The start of the message if the current folder was removed: no error of the system names it."""
    try:
        os.getcwd()
    except OSError:
        return "the current folder: "
    return ""


def entry() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    code = main()
    signals.end_quietly()
    if not is_hanging():
        sys.exit(code)
    # Python's own exit would unload OpenCV while a thread is still inside it, and abort. All sinks and
    # reports are closed by now; only the streams have to be flushed.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _without_debug(argv: Sequence[str]) -> tuple[list[str], bool]:
    """The command line without `--debug`, which every command takes, and whether it was there."""
    options = list(argv)
    end = options.index("--") if "--" in options else len(options)
    kept = [word for word in options[:end] if word != _DEBUG]
    return kept + options[end:], len(kept) < end


def _dispatch(argv: list[str]) -> int:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine("fastcam: %(message)s"))
    logging.basicConfig(handlers=[handler])
    if argv and argv[0] in _EXPORT_COMMANDS:
        code: int | None = import_commands().main(argv)
        return code or 0
    if not argv:
        _parsers()[0].print_help()
        return 0
    args = parse(*_parsers(), argv)
    logging.getLogger("fastcam_runtime").setLevel(
        logging.INFO
    )  # not of others, e.g. of who builds a torch model
    code = args.handler(args)
    return code or 0


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and those of its commands by name."""
    parser = Parser(
        prog="fastcam",
        description="Saliency maps inside the ONNX file you deploy.",
        epilog="'fastcam COMMAND --help' shows the options of a command, with examples. "
        "Every command takes --debug, which shows the traceback of an error.",
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show versions, and whether compiled kernels run"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    cli_run.add_parser(commands)
    cli_bench.add_parser(commands)
    cli_inspect.add_parser(commands)
    cli_web.add_parser(commands)
    cli_cache.add_parser(commands)
    cli_recover.add_parser(commands)
    for name, text in _EXPORT_COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    helps = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    helps["completion"] = "print a script that completes this command in your shell"
    cli_completion.add_parser(commands, lambda: commands.choices | import_commands().parsers(), helps)
    return parser, commands.choices


class _OneLine(logging.Formatter):
    """Formats a message on one line: names from a file may have line breaks."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))


class _Version(argparse.Action):
    """Prints the version, and whether there are compiled kernels: without them maps are slower."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"fastcam {package_version() or '(not installed)'}\n{native.status()}")
        parser.exit()


if __name__ == "__main__":
    entry()
