"""The options of `fastcam run` for access to the live page."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...errors import FastcamError
from ...limits import read_whole
from ...uri_kinds import local_path
from ..https_options import add_https_options

_LONGEST = 4096
"""Most bytes to read from a token file: a token has at most 128 characters."""


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add the options in their own group."""
    page = parser.add_argument_group("access to the live page")
    page.add_argument("--token", help="its password (default: $FASTCAM_TOKEN)")
    page.add_argument(
        "--token-file", type=Path, metavar="FILE", help="read the password from FILE, its first line"
    )
    add_https_options(page)


def page_token(args: argparse.Namespace) -> str | None:
    """The password of the page; None if no option gives one.

    Raises:
        FastcamError: Both options are given, or the file is empty.
    """
    if args.token_file is None:
        token: str | None = args.token
        return token
    if args.token is not None:
        raise FastcamError("--token and --token-file exclude each other")
    try:
        lines = read_whole(local_path(args.token_file), _LONGEST).decode(errors="replace").splitlines()
    except OSError as error:
        raise FastcamError(f"--token-file {args.token_file}: {error.strerror}") from error
    if not lines or not lines[0].strip():
        raise FastcamError(f"--token-file {args.token_file}: its first line is empty")
    return str(lines[0]).strip()
