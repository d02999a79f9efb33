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
from ..draw.caption import answer
from ..draw.contour import parse_share
from ..draw.overlay import BLENDS, STEADY, Overlay
from ..draw.views import available_views, output_of
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
from ..sources.registry import KINDS as SOURCE_KINDS
from ..text import printable
from ..uri_kinds import local_path, usage_lines
from .arguments import refuse_below_one
from .https_options import chosen_certificate
from .output_paths import check_json_path, refuse_overwriting, write_json
from .run_options.boxes import add_box_options, box_choice, only_classes, read_threshold
from .run_options.keep import add_keep_options, keep_folder, keep_rules
from .run_options.page import add_page_options, page_token
from .run_options.pictures import PHOTOS_FPS, add_frame_options, add_show_options, add_speed_options
from .signals import stopped_by_signals

logger = logging.getLogger(__name__)

_DEFAULT_FPS = 30.0
"""Frame rate of a recording if the source has none."""

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
        help="a camera, stream, video or pictures through a grafted model",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
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
    add_show_options(parser)
    add_box_options(parser)
    add_frame_options(parser)
    add_speed_options(parser)
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
    _check(args)
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
    controls = _controls(args, explainer)
    metrics = LoopMetrics()
    logger.info("%s", model.describe())
    if args.every > 1:
        model.session([])
    if args.every > 1 and not model.can_be_cut:
        logger.warning("%s: an ORT file cannot be pruned, so --every saves no time", args.model)
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
                    fps=source.fps or (PHOTOS_FPS if source.stills else _DEFAULT_FPS),
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
            _tell(args, report, whole=whole)
    return 0


def _tell(args: argparse.Namespace, report: RunReport, *, whole: bool) -> None:
    """Write the figures if a file was named, and print them; `whole` if the run ended without an error."""
    # The file comes first: printing fails if the reader of the terminal output has gone.
    if args.json is not None:
        write_json(args.json, report.as_dict())
    last = report.last
    # Standard output may be for lines of JSON only.
    out = sys.stderr if args.jsonl == STDOUT else sys.stdout
    if report.metrics.frames == 1 and last is not None:
        if not whole:  # no picture was finished
            return
        where = ", ".join(uri for uri in args.outputs if "://" not in uri) or without_password(args.input)
        network = last.latency["preprocess"] + last.latency["inference"]
        told = [answer(printable(last.label), last.score), f"{network:.0f} ms (first run)"]
        print(f"{where}: {', '.join(filter(None, told))}", file=out, flush=True)
    elif report.metrics.frames:
        print(report.text(), file=out, flush=True)


def _check(args: argparse.Namespace) -> None:
    """Refuse what can be seen to be wrong before the model is loaded."""
    refuse_below_one(args, "every", "frames")
    if args.class_choice is not None and not args.class_choice.strip():
        raise FastcamError("--class is empty; give a name or an index, or leave it out")
    if args.json is not None:
        check_json_path(args.json)
    lines = args.jsonl if args.jsonl != STDOUT else None
    if lines is not None:
        check_lines_path(local_path(lines))
    refuse_overwriting([args.model, args.input], [*args.outputs, *filter(None, (args.json, lines))])


def _controls(args: argparse.Namespace, explainer: Explainer) -> Controls:
    """What a user can change while the loop runs, as the options begin it."""
    return Controls(
        available_views(explainer.model),
        args.view,
        class_choice=args.class_choice,
        check_class=explainer.class_index,
        has_classes=explainer.model.has_class_maps,
        labels=explainer.labels,
        look=Look(args.colormap, BLENDS[args.blend] if args.alpha is None else args.alpha),
        colormaps=colormaps.COLORMAPS,
        **box_choice(args, explainer),
    )


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
