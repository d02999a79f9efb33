"""The raw grids of YOLO, one output per stride, before anything is decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from fastcam_runtime.detect.head import Grid, Head

from .coding import are_probabilities
from .outputs import NoHeadError, as_grid, count_classes, list_strides

Anchors = tuple[tuple[float, ...], ...]
"""As in `Head`: one list of widths and heights per grid; empty if they are not known."""

USUAL_ANCHORS = 3
"""Anchors per cell of YOLOv3 to v7."""


def find_raw_grids(
    outputs: Mapping[str, np.ndarray], size: tuple[int, int], labels: int | None, anchors: Anchors
) -> Head | None:
    """N×V×h×w or N×k×h×w×V for two strides or more.

    Args:
        outputs: Every output of one run, by name, without the batch dimension.
        size: Height and width of the picture.
        labels: How many class names are known.
        anchors: What the user says of the anchors.

    Raises:
        NoHeadError: These are raw grids, but not all is known that decoding needs.
    """
    per_cell = _count(anchors)
    apart = tuple(name for name, array in outputs.items() if array.ndim == 4 and len(array) == per_cell)
    planes = {
        name: np.moveaxis(array, 3, 1).reshape(-1, *array.shape[1:3]) if name in apart else array
        for name, array in outputs.items()
    }
    found = [rows for name, array in planes.items() if (rows := as_grid(name, array, size)) is not None]
    found.sort(key=lambda rows: rows.grid.stride if rows.grid else 0)
    cells = tuple(rows.grid for rows in found if rows.grid is not None)
    widths = {rows.width for rows in found}
    if len(found) < 2 or len(widths) != 1 or len({grid.stride for grid in cells}) != len(cells):
        return None
    width, names = widths.pop(), tuple(rows.name for rows in found)
    if not set(names) <= set(apart):
        head = _of_distributions(names, cells, width, labels)
        if head is not None:
            return head
    every = sum(per_cell * grid.rows for grid in cells)
    if width % per_cell or width // per_cell <= 5 or any(every in a.shape[-2:] for a in outputs.values()):
        return None  # beside the decoded rows, the grids are for training
    classes = width // per_cell - 5
    if not anchors:
        raise NoHeadError(
            f"the outputs {', '.join(names)} are raw grids of {per_cell} anchors with "
            f"{count_classes(classes)}, and the file does not hold the anchors: name them with "
            "--head '{\"anchors\": [[w,h,w,h,w,h], …]}', one list per stride, in pixels (boxes as YOLOv5 "
            "and v7 encode them)"
        )
    if all(are_probabilities(rows.values) for rows in found):
        raise NoHeadError(
            f"the raw grids {', '.join(names)} are 0…1: only boxes before their Sigmoid can be decoded"
        )
    layout = "rows" if set(names) <= set(apart) else "grid"
    grids = tuple(replace(grid, per_cell=per_cell) for grid in cells)
    return Head(
        layout, classes, names, names, names, grids, score_at=5, decode="anchors", order="anchors",
        activation="sigmoid", objectness_activation="sigmoid", anchors=anchors,
        why=f"raw grids of strides {list_strides(cells)}: {per_cell} anchors of box, objectness, "
        f"{count_classes(classes)}",
    )  # fmt: skip


def _count(anchors: Anchors) -> int:
    """Anchors per cell."""
    sides = {len(own) if isinstance(own, Sequence) else 0 for own in anchors} or {2 * USUAL_ANCHORS}
    count, odd = divmod(max(sides), 2)
    if len(sides) > 1 or odd or not count:
        raise NoHeadError(
            "anchors are as many pairs of width and height for every stride, in pixels: "
            "[[10, 13, 16, 30], [33, 23, 62, 45], …]"
        )
    return count


def _of_distributions(
    names: tuple[str, ...], cells: tuple[Grid, ...], width: int, labels: int | None
) -> Head | None:
    """YOLOv8 and later: 4·16 values of a box, then the classes."""
    classes = 80 if labels is None and width == 144 else labels or width
    if not 64 + classes <= width != USUAL_ANCHORS * (5 + classes):
        return None
    more = f", {width - 64 - classes} more" if width > 64 + classes else ""
    return Head(
        "grid", classes, names, names, grids=cells, score_at=64, decode="distribution", bins=16,
        activation="sigmoid", family="yolov8",
        why=f"raw grids of strides {list_strides(cells)}: 4·16 values of a box, "
        f"{count_classes(classes)}{more}",
    )  # fmt: skip
