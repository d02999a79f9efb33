"""The options of `fastcam run` for frames and pictures: which are read, how fast, and how they are drawn."""

from __future__ import annotations

import argparse

from ...draw import colormaps
from ...draw.caption import PLACES
from ...draw.overlay import BLENDS, DEFAULT_BLEND
from ...draw.views import VIEWS
from ...live.loop import LoopOptions
from ...sources.ordered import PICTURES_PER_SECOND
from ..arguments import add_provider, add_speed_switches, add_threads, parse_size

PHOTOS_FPS = 1.0
"""Frame rate of a recording of photos."""


def add_show_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is shown."""
    show = parser.add_argument_group("what is shown")
    show.add_argument("--view", default="overlay", metavar="VIEW", help=f"{' | '.join(VIEWS)} (overlay)")
    show.add_argument(
        "--class",
        dest="class_choice",
        metavar="NAME|INDEX",
        help="the class to explain (default: the best one); overlay, map and side then show its map",
    )
    show.add_argument("--alpha", type=float, help="opacity of the map, 0…1 (the blend's own)")
    show.add_argument(
        "--colormap", default=colormaps.DEFAULT, metavar="NAME", help=" | ".join(colormaps.COLORMAPS)
    )
    show.add_argument(
        "--blend",
        default=DEFAULT_BLEND,
        choices=BLENDS,
        help="focus: the opacity follows the map; colour: the same everywhere; paper: over a gray frame "
        f"({DEFAULT_BLEND})",
    )
    show.add_argument(
        "--smooth",
        type=float,
        default=LoopOptions.smooth,
        metavar="S",
        help=f"temporal smoothing: weight of earlier maps, from 0 to below 1 ({LoopOptions.smooth})",
    )
    show.add_argument(
        "--caption",
        default=LoopOptions.caption,
        choices=PLACES,
        help=f"where label and figures go: below the frame, inside it, or none ({LoopOptions.caption})",
    )
    show.add_argument("--no-caption", dest="caption", action="store_const", const="none", help="no caption")
    show.add_argument(
        "--legend", action="store_true", help="draw a colour bar; LOVI has one with its caption"
    )
    show.add_argument("--contour", metavar="SHARE", help="outline the brightest share of the map, e.g. 10%%")


def add_frame_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the frames to read."""
    frames = parser.add_argument_group("frames")
    frames.add_argument(
        "--size", type=parse_size, metavar="WxH", help="frame size, e.g. 640x480 (the source's own)"
    )
    frames.add_argument(
        "--fps",
        type=float,
        help="requested frame rate of a camera; excess frames are dropped; "
        f"or photos per second ({PICTURES_PER_SECOND:g} on a screen, {PHOTOS_FPS:g} in a recording)",
    )
    frames.add_argument("--flip", choices=("horizontal", "vertical", "both"), help="mirror the frames")
    frames.add_argument("--loop", action="store_true", help="start a file again at its end")
    frames.add_argument("--frames", type=int, metavar="N", help="stop after N frames")


def add_speed_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the network's speed."""
    speed = parser.add_argument_group("speed")
    speed.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="compute maps for every Nth frame only; photos always have maps (1)",
    )
    add_threads(speed)
    add_provider(speed)
    add_speed_switches(speed)
