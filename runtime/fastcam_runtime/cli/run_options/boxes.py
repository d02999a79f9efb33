"""The options of `fastcam run` for the boxes of a detector."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ...classes import find_class
from ...detect.detections import Threshold
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
    boxes.add_argument("--classes", metavar="NAMES", help="only boxes of these classes, e.g. person,dog")


def read_threshold(args: argparse.Namespace) -> Threshold:
    """The threshold of the options, for all classes.

    Raises:
        FastcamError: A number is not within 0…1.
    """
    return Threshold(args.score, args.iou)


def only_classes(threshold: Threshold, names: str | None, explainer: Explainer) -> Threshold:
    """The threshold for the named classes only; None names all.

    Raises:
        FastcamError: The model is not a detector.
        ClassError: There is no such class.
    """
    if names is None:
        return threshold
    head = explainer.metadata.detector
    if head is None:
        raise FastcamError(f"--classes needs a detector; {explainer.model.path} has no known detector's head")
    wanted = tuple(find_class(name, explainer.labels, head.classes) for name in names.split(","))
    return replace(threshold, classes=wanted)
