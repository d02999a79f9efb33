"""The options of `fastcam run` about what is kept on the disk while it runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..sinks.kept_folder import KeptFolder

_FOLDER = "fastcam-kept"
_FILES = 1000
_MEGABYTES = 500


def add_keep_options(parser: argparse.ArgumentParser) -> None:
    """Add the options as a group of their own."""
    keep = parser.add_argument_group("what is kept", "recordings made with the button of the live page")
    keep.add_argument(
        "--keep-in", type=Path, default=Path(_FOLDER), metavar="FOLDER", help=f"where (./{_FOLDER})"
    )
    keep.add_argument(
        "--keep-files",
        type=int,
        default=_FILES,
        metavar="N",
        help=f"at most N files; the oldest goes first ({_FILES})",
    )
    keep.add_argument(
        "--keep-mb",
        type=float,
        default=_MEGABYTES,
        metavar="N",
        help=f"at most N megabytes; the oldest goes first ({_MEGABYTES})",
    )


def kept_folder(args: argparse.Namespace) -> KeptFolder:
    """The folder that the options describe; it is not created yet."""
    return KeptFolder(args.keep_in.expanduser(), args.keep_files, args.keep_mb)
