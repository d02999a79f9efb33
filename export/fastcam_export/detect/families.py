"""What is known about a detector's family: its preprocessing and its labels, each with the reason.

A family is recognised only if the outputs leave no doubt. Otherwise the user or the file must say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from fastcam_runtime.contract import PREPROCESS, Preprocess
from fastcam_runtime.detect.head import Grid, Head

from .coco import COCO_80

LETTERBOX_GRAY = 114


@dataclass(frozen=True)
class Family:
    """How the publisher of a family feeds it."""

    name: str
    preprocess: Preprocess
    resize: str
    labels: tuple[str, ...] = ()
    """The labels that all of its files share; empty if they differ."""


_RAW_BGR = Preprocess("BGR")
_ULTRALYTICS = replace(PREPROCESS["unit"], pad=LETTERBOX_GRAY)
_FACE = ("face",)

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("ultralytics", _ULTRALYTICS, "letterbox"),
        Family("yolox", replace(_RAW_BGR, pad=LETTERBOX_GRAY, placement="corner"), "letterbox"),
        Family("yolov5", _ULTRALYTICS, "letterbox"),
        Family("yolov8", _ULTRALYTICS, "letterbox"),
        Family("yunet", replace(_RAW_BGR, pad=0, placement="corner"), "letterbox", _FACE),
        Family(
            "scrfd",
            Preprocess("RGB", (127.5,) * 3, (128.0,) * 3, pad=0, placement="corner"),
            "letterbox",
            _FACE,
        ),
        Family(
            "nanodet",
            Preprocess("BGR", (103.53, 116.28, 123.675), (57.375, 57.12, 58.395), pad=0),
            "letterbox",
        ),
        Family("picodet", PREPROCESS["imagenet"], "stretch"),
        Family("ultraface", Preprocess("RGB", (127.0,) * 3, (128.0,) * 3), "stretch", _FACE),
        Family(
            "retinaface",
            Preprocess("BGR", (104.0, 117.0, 123.0), (1.0,) * 3, pad=0, placement="corner"),
            "letterbox",
            _FACE,
        ),
        Family("rtdetr", PREPROCESS["unit"], "stretch"),
        Family("fastestdet", Preprocess("BGR", (0.0,) * 3, (255.0,) * 3), "stretch"),
    )
}

_PRIORS = {
    "ultraface": ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256)),
    "retinaface": ((16, 32), (64, 128), (256, 512)),
}
"""Sides in pixels of the square priors of each stride, for any input size."""


def family_of_metadata(metadata: Mapping[str, str]) -> Family | None:
    """The family of a file that Ultralytics' exporter wrote; None for other files."""
    if metadata.get("author") != "Ultralytics" and not {"task", "stride", "names"} <= set(metadata):
        return None
    model = f"{metadata.get('head', '')} {metadata.get('description', '')}".lower().replace("-", "")
    return FAMILIES["rtdetr" if "rtdetr" in model else "ultralytics"]


def _is_ultraface(head: Head) -> bool:
    return (
        len(head.scores) == 1 and tuple(g.per_cell for g in head.grids) == (3, 2, 2, 3) and head.classes < 3
    )


def _is_yolox(head: Head) -> bool:
    return bool(head.objectness) and len(head.scores) == 1 and head.decode == "offsets"


def _is_yolov5(head: Head) -> bool:
    return head.layout != "columns" and head.objectness == head.boxes and _anchors(head) == {3}


def _is_yolov8(head: Head) -> bool:
    strides = tuple(grid.stride for grid in head.grids)
    return (
        head.layout == "columns" and not head.objectness and _anchors(head) == {1} and strides == (8, 16, 32)
    )


def _is_yunet(head: Head) -> bool:
    return len(head.objectness) == 3 and head.decode == "offsets" and head.classes == 1


def _is_scrfd(head: Head) -> bool:
    return head.decode == "distances" and head.classes == 1 and _anchors(head) == {2} and len(head.boxes) == 3


def _is_nanodet(head: Head) -> bool:
    plus = len(head.boxes) == 1 and len(head.grids) == 4
    return head.decode == "distribution" and head.bins == 8 and (plus or len(head.boxes) == 3)


def _is_picodet(head: Head) -> bool:
    return head.decode == "distribution" and head.bins == 8 and len(head.boxes) == 4


def _is_rtdetr(head: Head) -> bool:
    return (head.boxes, head.scores, head.indices) == (("boxes",), ("scores",), ("labels",))


def _anchors(head: Head) -> set[int]:
    return {grid.per_cell for grid in head.grids}


_SIGNS: tuple[tuple[str, Callable[[Head], bool], str], ...] = (
    ("ultraface", _is_ultraface, "3, 2, 2, 3 anchors per cell and a face score beside a background"),
    ("yunet", _is_yunet, "three strides of face score, objectness and box offsets"),
    ("yolox", _is_yolox, "objectness, one anchor per cell, boxes not decoded"),
    ("yolov5", _is_yolov5, "objectness and three anchors per cell"),
    ("yolov8", _is_yolov8, "values before rows, no objectness, strides 8, 16, 32"),
    ("scrfd", _is_scrfd, "three strides of face score and distances, two anchors per cell"),
    ("picodet", _is_picodet, "four strides of classes and distributions of 8"),
    ("nanodet", _is_nanodet, "classes and distributions of 8"),
    ("rtdetr", _is_rtdetr, "the outputs boxes, scores and labels, as RT-DETR, D-FINE and DEIM name them"),
    ("fastestdet", lambda head: head.decode == "tanh", "one grid of objectness, box and classes"),
)


@dataclass(frozen=True)
class Recognised:
    """A head with what its family adds, and the reasons to show."""

    head: Head
    family: Family | None
    why: str
    """Why it is of this family, or that the family is unknown."""
    labels: tuple[str, ...] = ()
    labels_why: str = ""


def find_family(head: Head, metadata: Mapping[str, str], *, named: bool = False) -> Recognised:
    """The family of a head.

    Args:
        head: As recognised from the outputs; a family that it has already is kept.
        metadata: The file's own metadata.
        named: The user named the family.
    """
    name, why = _name(head, metadata)
    why = "named by the user" if named else why
    family = FAMILIES.get(name)
    head = replace(head, family=name)
    if name in _PRIORS and head.decode == "priors":
        sides = tuple(tuple(float(s) for side in sides for s in (side, side)) for sides in _PRIORS[name])
        head = replace(head, anchors=sides, why=f"{head.why}; decoded with the priors of {name}")
    labels: tuple[str, ...] = ()
    labels_why = ""
    if family is not None and len(family.labels) == head.classes:
        labels, labels_why = family.labels, f"the family {name}, which finds {' and '.join(family.labels)}s"
    elif head.classes == len(COCO_80):
        labels, labels_why = (
            COCO_80,
            "COCO, assumed: there are 80 classes and nothing in the file names them",
        )
    return Recognised(head, family, why, labels, labels_why)


def family_of_outputs(grids: Sequence[Grid], decode: str, widths: Set[int]) -> str:
    """The family that outputs beside the boxes show; empty if they show none.

    Args:
        grids: Of the boxes.
        decode: How the boxes are encoded; empty if they are not decoded.
        widths: Values per row of the other outputs.
    """
    places = [(grid.stride, grid.per_cell) for grid in grids]
    faces = places == [(8, 2), (16, 2), (32, 2)] and not decode and widths == {2, 10}
    return "retinaface" if faces else ""


def _name(head: Head, metadata: Mapping[str, str]) -> tuple[str, str]:
    if head.family:
        return head.family, "its outputs are those of this family"
    stated = family_of_metadata(metadata)
    if stated is not None:
        return stated.name, "the file's metadata are Ultralytics'"
    for name, fits, why in _SIGNS:
        if fits(head):
            return name, why
    return "", "no known family has such a head: say --preprocess and --resize"
