"""The options of `fastcam run` for the boxes of a detector."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ...classes import find_class
from ...detect.detections import Threshold
from ...detect.head import Head
from ...errors import FastcamError
from ...explainer import Explainer


def add_box_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    boxes = parser.add_argument_group("boxes of a detector")
    boxes.add_argument(
        "--score",
        type=float,
        default=Threshold.score,
        metavar="S",
        help="lowest score of a box (%(default)s)",
    )
    boxes.add_argument(
        "--iou",
        type=float,
        default=Threshold.iou,
        metavar="I",
        help="if boxes of one class overlap more, keep only the best (%(default)s)",
    )
    boxes.add_argument(
        "--box", type=int, metavar="N", help="explain the Nth best box of each frame; 1 is the best"
    )
    boxes.add_argument("--classes", metavar="NAMES", help="only boxes of these classes, e.g. person,dog")


def read_threshold(args: argparse.Namespace) -> Threshold:
    """The threshold of the options, for all classes.

    Raises:
        FastcamError: A number is not within 0…1.
    """
    return Threshold(args.score, args.iou)


def box_choice(args: argparse.Namespace, explainer: Explainer) -> dict[str, Any]:
    """What the options say of boxes, as arguments of `Controls`.

    Raises:
        FastcamError: The box is not 1 or more, or the model is no detector.
    """
    if args.box is None:
        return {"has_boxes": explainer.metadata.detector is not None}
    if args.box < 1:
        raise FastcamError(f"--box {args.box}: 1 is the best box")
    if args.class_choice is not None:
        raise FastcamError("--box and --class exclude each other: a box has its own class")
    _require_detector("--box", explainer)
    return {"has_boxes": True, "box": args.box - 1}


def _require_detector(option: str, explainer: Explainer) -> Head:
    head = explainer.metadata.detector
    if head is None:
        raise FastcamError(
            f"{option} needs a detector; no detector's head is known in {explainer.model.path}"
        )
    return head


def only_classes(threshold: Threshold, names: str | None, explainer: Explainer) -> Threshold:
    """The threshold for the named classes only; None names all.

    Raises:
        FastcamError: The model is not a detector.
        ClassError: There is no such class.
    """
    if names is None:
        return threshold
    head = _require_detector("--classes", explainer)
    wanted = tuple(find_class(name, explainer.labels, head.classes) for name in names.split(","))
    return replace(threshold, classes=wanted)
