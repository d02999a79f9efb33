"""`fastcam recover`: turn the part of a killed recording into a video."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..sinks.leftovers import find_parts, recover
from ..uri_kinds import local_path

_DESCRIPTION = """\
Turn the part of a killed recording into a video. The part is removed if the video plays.

A recording is written to a hidden file beside its target, such as .out.1234.part.mp4, and gets its name when
it is finished. If fastcam was killed or the power failed, the part stays; the next 'fastcam run' lists it.
"""


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "recover",
        help="turn the part of a killed recording into a video",
        description=_DESCRIPTION,
        epilog="examples:\n  fastcam recover .out.1234.part.mp4\n  fastcam recover out.mp4",
    )
    parser.set_defaults(handler=run)
    parser.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="a hidden part, or the name of its recording",
    )


def run(args: argparse.Namespace) -> int:
    """Recover every part that was named."""
    for part in [part for file in args.files for part in find_parts(local_path(file))]:
        video = recover(part)
        print(f"{video}: recovered, {video.stat().st_size / 1e6:.1f} MB", flush=True)
    return 0
