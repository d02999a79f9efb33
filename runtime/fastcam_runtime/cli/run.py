"""`fastcam run`: the options, and the loop that they describe."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cv2

from ..draw import colormaps
from ..draw.caption import PLACES
from ..draw.contour import parse_share
from ..draw.overlay import BLENDS, DEFAULT_BLEND, STEADY, Overlay
from ..draw.views import VIEWS, available_views, output_of
from ..errors import FastcamError
from ..explainer import Explainer
from ..live.controls import Controls, Look
from ..live.evidence import Evidence, Origin
from ..live.loop import Loop, LoopOptions
from ..live.metrics import LoopMetrics
from ..live.report import RunReport
from ..live.service import Service
from ..measure import system
from ..model.grafted import Model
from ..model.session import open_cut
from ..prepared.cache import open_cached
from ..sinks import open_sink
from ..sinks.json_lines import STDOUT, JsonLines, check_lines_path
from ..sinks.leftovers import remove_unfinished, tell_leftovers
from ..sinks.registry import KINDS as SINK_KINDS
from ..sinks.registry import is_interactive
from ..sources import SourceOptions, open_source
from ..sources.capture import without_password
from ..sources.live_source import interruptible
from ..sources.ordered import PICTURES_PER_SECOND
from ..sources.registry import KINDS as SOURCE_KINDS
from ..uri_kinds import local_path, usage_lines
from .arguments import add_speed_switches, parse_size, refuse_below_one
from .https_options import chosen_certificate
from .output_paths import check_json_path, refuse_overwriting
from .run_options.boxes import add_box_options, box_choice, only_classes, read_threshold
from .run_options.keep import add_keep_options, keep_folder, keep_rules
from .run_options.page import add_page_options, page_token
from .run_summary import tell_run
from .signals import stopped_by_signals

logger = logging.getLogger(__name__)

_DEFAULT_FPS = 30.0
_PHOTOS_FPS = 1.0
"""Frame rates of a recording if the source has none."""

_DESCRIPTION = f"""\
Show where a network looks, on a camera, a stream, a video or pictures.

INPUT:
{usage_lines(SOURCE_KINDS)}
OUTPUT, any number of them:
{usage_lines(SINK_KINDS)}
"""

_EXAMPLES = """\
examples:
  fastcam run model-fastcam.onnx 0                            the first webcam, in a window
  fastcam run model-fastcam.onnx 0 http://0.0.0.0:8000        the same as a page for the local network
  fastcam run model-fastcam.onnx clip.mp4 out.mp4 --view side a video, beside the original
  fastcam run model-classes.onnx photo.jpg out.png --class tabby   a file with class maps
  fastcam run model-fastcam.onnx csi://0 display:// out.mp4 --every 3 --smooth 0.8
"""


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "run",
        allow_abbrev=False,
        help="a camera, stream, video or pictures through a grafted model",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=run)
    parser.add_argument("model", metavar="MODEL", type=Path, help="a file made by 'fastcam export'")
    parser.add_argument("input", metavar="INPUT", help="where frames come from")
    parser.add_argument(
        "outputs",
        metavar="OUTPUT",
        nargs="*",
        default=[],  # without it, argparse calls them required
        help="where pictures go, one or more (default: display://)",
    )
    show = parser.add_argument_group("what is shown")
    show.add_argument("--view", default="overlay", metavar="VIEW", help=f"{'|'.join(VIEWS)} (overlay)")
    show.add_argument(
        "--class",
        dest="class_choice",
        metavar="NAME|INDEX",
        help="the class to explain (default: the best one); overlay, map and side then show its map",
    )
    show.add_argument("--alpha", type=float, help="opacity of the map, 0…1 (the blend's own)")
    show.add_argument(
        "--colormap", default=colormaps.DEFAULT, metavar="NAME", help=f"{'|'.join(colormaps.COLORMAPS)}"
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
        help=f"temporal smoothing: weight of earlier maps, 0…<1 ({LoopOptions.smooth})",
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
    add_box_options(parser)
    frames = parser.add_argument_group("frames")
    frames.add_argument(
        "--size", type=parse_size, metavar="WxH", help="frame size, e.g. 640x480 (the source's own)"
    )
    frames.add_argument(
        "--fps",
        type=float,
        help="requested frame rate of a camera; excess frames are dropped; "
        f"or photos per second ({PICTURES_PER_SECOND:g} on a screen, {_PHOTOS_FPS:g} in a recording)",
    )
    frames.add_argument("--flip", choices=("horizontal", "vertical", "both"), help="mirror the frames")
    frames.add_argument("--loop", action="store_true", help="start a file again at its end")
    frames.add_argument("--frames", type=int, metavar="N", help="stop after N frames")
    speed = parser.add_argument_group("speed")
    speed.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="compute maps for every Nth frame only; photos always have maps (1)",
    )
    speed.add_argument("--threads", type=int, metavar="N", help="threads of the network (cores, 4 at most)")
    speed.add_argument("--provider", default="auto", metavar="NAME", help="auto|cpu|cuda|tensorrt|openvino|…")
    add_speed_switches(speed)
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the figures of the run to FILE, at the end",
    )
    parser.add_argument(
        "--jsonl",
        metavar="FILE|-",
        help="append one line of JSON per frame to FILE, or to standard output, while it runs: number, time, "
        "class, score, the best five, regions of the map, latency",
    )
    add_keep_options(parser)
    add_page_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run the loop and print the figures at the end."""
    refuse_below_one(args, "every", "frames")
    if args.class_choice is not None and not args.class_choice.strip():
        raise FastcamError("--class is empty; give a name or an index, or leave it out")
    if args.json is not None:
        check_json_path(args.json)
    lines = args.jsonl if args.jsonl != STDOUT else None
    if lines is not None:
        check_lines_path(local_path(lines))
    refuse_overwriting([args.model, args.input], [*args.outputs, *filter(None, (args.json, lines))])
    rules, kept = keep_rules(args), keep_folder(args)
    token, certificate = page_token(args), chosen_certificate(args)
    # Drawing runs in its own thread beside the network. OpenCV's pool would compete with it for the cores.
    cv2.setNumThreads(1)
    contour = None if args.contour is None else parse_share(args.contour)
    overlay = Overlay(
        args.colormap, args.alpha, args.blend, compiled=args.compiled, contour=contour, steady=STEADY
    )
    threshold = read_threshold(args)
    options = LoopOptions(args.every, args.smooth, args.frames, args.caption, args.legend)
    asked = {name: getattr(args, name) for name in ("size", "fps", "flip", "loop")}
    SourceOptions(**asked)  # checks the ranges before the model is loaded
    opener = open_cached if args.cache else open_cut
    model = Model(
        args.model, threads=args.threads, provider=args.provider, compiled=args.compiled, opener=opener
    )
    shown = output_of(args.view, model, of_class=args.class_choice is not None)
    explainer = Explainer.of(model, [shown])
    explainer.threshold = only_classes(threshold, args.classes, explainer)
    controls = Controls(
        available_views(model),
        args.view,
        class_choice=args.class_choice,
        check_class=explainer.class_index,
        has_classes=model.has_class_maps,
        labels=explainer.labels,
        look=Look(args.colormap, BLENDS[args.blend] if args.alpha is None else args.alpha),
        colormaps=colormaps.COLORMAPS,
        **box_choice(args, explainer),
    )
    metrics = LoopMetrics()
    logger.info("%s", model.describe())
    if args.every > 1:
        model.session([])
    if args.every > 1 and not model.can_be_cut:
        logger.warning("%s: an ORT file cannot be cut, so --every saves nothing", args.model)
    outputs = args.outputs or [_default_output()]
    tell_leftovers(outputs, kept.path)
    remove_unfinished(kept.path)
    watched = any(map(is_interactive, outputs))
    # If a sink cannot be opened, those opened before are closed. Otherwise the loop closes everything.
    with ExitStack() as opened:
        source = opened.enter_context(
            interruptible(
                args.input,
                lambda: open_source(
                    args.input, **asked, paced=watched, alpha=model.metadata.preprocess.alpha
                ),
            )
        )
        opened.enter_context(stopped_by_signals(controls))
        sinks = [
            opened.enter_context(
                open_sink(
                    uri,
                    fps=source.fps or (_PHOTOS_FPS if source.stills else _DEFAULT_FPS),
                    controls=controls,
                    token=token,
                    certificate=certificate,
                    real_time=source.live,
                    metrics=metrics,
                    kept=kept,
                )
            )
            for uri in outputs
        ]
        if args.jsonl is not None:
            sinks.append(opened.enter_context(JsonLines(args.jsonl)))
        origin = Origin(args.model, model.metadata, _setup(args, explainer), stills=source.stills)
        evidence = Evidence(kept, rules, origin)
        if rules:
            sinks.append(evidence)
        loop = Loop(explainer, source, sinks, controls, overlay, options, metrics, evidence)
        opened.enter_context(Service(metrics, lambda: loop.stuck_seconds))
        rss = system.rss_bytes()
        whole = False
        try:
            loop.run()
            whole = True
        finally:
            report = RunReport(
                loop.metrics, source, (rss, system.rss_bytes()), _setup(args, explainer), loop.last
            )
            tell_run(args, report, whole=whole)
    return 0


def _default_output() -> str:
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise FastcamError(
            "no display here: name an output, e.g. http://:8000 (live page), out.mp4 or null://"
        )
    return "display://"


def _setup(args: argparse.Namespace, explainer: Explainer) -> dict[str, object]:
    return {
        "model": str(args.model),
        "input": without_password(args.input),
        "outputs": args.outputs,
        "view": args.view,
        "every": args.every,
        "runs_on": explainer.model.describe(),
    }
