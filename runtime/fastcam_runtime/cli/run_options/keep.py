"""The options of `fastcam run` for files that it keeps on the disk."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...live.keep_rules import EXAMPLES, Rule, parse_rule
from ...sinks.kept_folder import KeptFolder
from ...uri_kinds import local_path

_FOLDER = "fastcam-kept"
_FILES = 1000
_MEGABYTES = 500


def add_keep_options(parser: argparse.ArgumentParser) -> None:
    """Add the options in their own group."""
    keep = parser.add_argument_group("kept files", "evidence, and recordings of the live page")
    keep.add_argument(
        "--keep-when",
        action="append",
        default=[],
        metavar="RULE",
        help="keep frame, maps, overlay and a manifest as evidence when a rule holds; may be repeated: "
        + ", ".join(f"'{rule}'" for rule in EXAMPLES),
    )
    keep.add_argument(
        "--keep-in", type=Path, default=Path(_FOLDER), metavar="FOLDER", help=f"where (./{_FOLDER})"
    )
    keep.add_argument(
        "--keep-files",
        type=int,
        default=_FILES,
        metavar="N",
        help=f"at most N files; the oldest are deleted first ({_FILES})",
    )
    keep.add_argument(
        "--keep-mb",
        type=float,
        default=_MEGABYTES,
        metavar="N",
        help=f"at most N megabytes; the oldest are deleted first ({_MEGABYTES})",
    )


def keep_folder(args: argparse.Namespace) -> KeptFolder:
    """The folder that the options describe; it is not created yet."""
    return KeptFolder(local_path(args.keep_in), args.keep_files, args.keep_mb)


def keep_rules(args: argparse.Namespace) -> list[Rule]:
    """The rules for evidence.

    Raises:
        FastcamError: A text is not a rule.
    """
    return [parse_rule(text) for text in args.keep_when]
