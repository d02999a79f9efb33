"""Recognise the head of a one-stage detector from the shapes and values of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from fastcam_runtime.detect.boxes import Size
from fastcam_runtime.detect.head import Grid, Head

from .coding import are_probabilities, box_coding, sum_to_one
from .end_to_end import find_chosen_boxes, find_queries
from .families import family_of_outputs
from .outputs import (
    NoHeadError,
    Rows,
    as_grid,
    as_rows,
    count_classes,
    grid_of_one,
    grids_for,
    list_strides,
    sum_rows,
)
from .raw_grids import Anchors, find_raw_grids

Parts = Callable[[int], tuple[Grid, ...]]
"""From a number of rows to the grids that the graph concatenates into them."""

DFL_BINS = (8, 16, 17, 32)
"""Values per side of the distributions that detectors are trained with."""


def recognise(
    outputs: Mapping[str, np.ndarray],
    size: Size,
    *,
    labels: int | None = None,
    parts: Parts | None = None,
    anchors: Anchors = (),
) -> Head:
    """The head behind the outputs of one run.

    Args:
        outputs: Every output of the network for one picture, by name, without the batch dimension.
        size: Height and width of its input.
        labels: The number of class names in the file, if any: this determines how many values are classes.
        parts: Searches the graph for grids with different numbers of anchors.
        anchors: What the user says of the anchors, as in `Head`.

    Raises:
        NoHeadError: The outputs are not those of a known head.
    """
    seen = _Seen(outputs, size, labels, parts or (lambda rows: ()), anchors)
    head = find_chosen_boxes(outputs, labels) or find_queries(seen.rows, size, labels)
    looks = (_per_stride, _separate, _dense, _one_grid) if head is None else ()
    head = head or next((found for look in looks if (found := look(seen)) is not None), None)
    if head is not None:
        return head
    raise NoHeadError(f"no known detector's head has the outputs {seen}")


class _Seen:
    """The outputs of one run, as rows."""

    def __init__(
        self,
        outputs: Mapping[str, np.ndarray],
        size: Size,
        labels: int | None,
        parts: Parts,
        anchors: Anchors,
    ) -> None:
        self.outputs = outputs
        self.size = size
        self.labels = labels
        self.anchors = anchors
        self._parts = parts
        self.rows = [
            rows
            for name, array in outputs.items()
            if array.ndim > 1 and array.dtype.kind == "f" and (rows := as_rows(name, array, size)) is not None
        ]

    def grids(self, rows: Rows) -> tuple[Grid, ...]:
        """The grids of an output that holds all rows; empty where the rows do not add up."""
        return grids_for(rows.count, self.size) or self._parts(rows.count)

    def __str__(self) -> str:
        shapes = (f"'{name}' {'×'.join(map(str, array.shape))}" for name, array in self.outputs.items())
        return f"{', '.join(shapes)} (of one picture of {self.size[0]}×{self.size[1]})"


def _per_stride(seen: _Seen) -> Head | None:
    """One output for each stride and kind: YuNet, SCRFD, NanoDet, PicoDet, raw YOLO heads."""
    raw = find_raw_grids(seen.outputs, seen.size, seen.labels, seen.anchors)
    if raw is not None:
        return raw
    groups: dict[int, list[tuple[Rows, Grid]]] = {}
    for rows in seen.rows:
        grid = grid_of_one(rows.count, seen.size)
        if grid is not None and rows.layout == "rows":
            groups.setdefault(rows.width, []).append((rows, grid))
    strides = {width: [grid.stride for _, grid in found] for width, found in groups.items()}
    count = len(set(strides.get(4, [])))
    for width, found in groups.items():
        count = max(count, len(set(strides[width])))
        found.sort(key=lambda pair: pair[1].stride)
    kinds = {width: found for width, found in groups.items() if len(set(strides[width])) == count}
    if count < 2 or not kinds:
        return None
    return _two_kinds(seen, kinds, count)


def _two_kinds(seen: _Seen, kinds: Mapping[int, Sequence[tuple[Rows, Grid]]], count: int) -> Head | None:
    """Boxes and scores of `count` strides, distinguished by the number and range of their values."""
    box_width = 4 if 4 in kinds else next((4 * b for b in DFL_BINS if 4 * b in kinds and len(kinds) > 1), 0)
    if not box_width:
        return None
    others = {
        width: found
        for width, found in kinds.items()
        if width != box_width and (width == seen.labels or all(are_probabilities(r.values) for r, _ in found))
    }
    if not others:
        return None
    width, scores = max(others.items(), key=lambda item: (item[0] == seen.labels, item[0] != 10, item[0]))
    boxes = kinds[box_width]
    grids = tuple(grid for _, grid in boxes)
    twice = len(scores) == 2 * count  # classes and objectness, both of one value
    first, second = scores[::2] if twice else scores, scores[1::2] if twice else []
    decode = "distribution" if box_width > 4 else "offsets" if twice else "distances"
    centre = 0.5 if box_width > 4 else 0.0
    values = np.concatenate([rows.values[:, :4] for rows, _ in boxes])
    coding = box_coding(values, grids) if box_width == 4 else None
    if coding is not None and coding.decode:
        decode = coding.decode
    what = f"{count_classes(width)}{' and objectness' if twice else ''}"
    return Head(
        "rows",
        width,
        tuple(rows.name for rows, _ in boxes),
        tuple(rows.name for rows, _ in first),
        tuple(rows.name for rows, _ in second),
        grids,
        score_at=0,
        objectness_at=0,
        decode=decode,
        unit=coding.unit if coding is not None and coding.decode else "pixels",
        bins=box_width // 4 if box_width > 4 else 0,
        centre=centre,
        activation="none" if all(are_probabilities(r.values) for r, _ in first) else "sigmoid",
        powers=(0.5, 0.5) if twice else (1.0, 1.0),
        why=f"one output per stride {list_strides(grids)}: {what}, boxes of {box_width} values ({decode})",
    )


def _separate(seen: _Seen) -> Head | None:
    """Scores N×A×C and boxes N×A×4: SSD, UltraFace, RetinaNet-like."""
    for boxes in (rows for rows in seen.rows if rows.width == 4 and rows.layout == "rows"):
        if sum_to_one(boxes.values):
            continue  # three classes and a background
        others = [r for r in seen.rows if r.count == boxes.count and r is not boxes and r.layout == "rows"]
        if not others:
            continue
        grids = seen.grids(boxes)
        if not grids:
            raise NoHeadError(_does_not_add_up(boxes, seen.size))
        coding = box_coding(boxes.values, grids)
        family = family_of_outputs(grids, coding.decode, {r.width for r in others})
        others = [r for r in others if r.width == 2 or not family]  # the rest are points of a face
        scores = max(others, key=lambda r: (r.width == seen.labels, are_probabilities(r.values), r.width))
        background = sum_to_one(scores.values) and scores.width > 1
        least = int(background)
        first, last = scores.values[:, 0].mean(), scores.values[:, -1].mean()
        column = 0 if first >= last else scores.width - 1  # most rows show no object
        activation = (
            "none" if are_probabilities(scores.values) else "softmax" if scores.width > 1 else "sigmoid"
        )
        if activation == "softmax":
            least, column = 1, 0
        classes = scores.width - least
        what = f", column {column} is background" if least else ""
        return Head(
            "rows", classes, (boxes.name,), (scores.name,), grids=grids,
            score_at=1 if least and column == 0 else 0,
            decode=coding.decode or "priors", unit=coding.unit, order=coding.order, activation=activation,
            anchors=() if coding.decode else ((),) * len(grids),
            family=family,
            why=f"{sum_rows(grids)}; {count_classes(classes)}{what}; {coding.why}",
        )  # fmt: skip
    return None


def _dense(seen: _Seen) -> Head | None:
    """One output with boxes and scores: N×A×(5+C), N×(4+C)×A, or N×A×(C+4·bins)."""
    candidates = [rows for rows in seen.rows if rows.width >= 5 and rows.count > 100]
    if not candidates:
        return None
    rows = max(candidates, key=lambda r: r.count)
    grids = seen.grids(rows)
    if not grids:
        raise NoHeadError(_does_not_add_up(rows, seen.size))
    spread = _with_distribution(rows, grids, seen.labels)
    if spread is not None:
        return spread
    # Heads N×V×A have no objectness: a value more than the classes is the angle of a turned box.
    has_objectness = rows.layout == "rows" and rows.width > 5 and seen.labels != rows.width - 4
    first = 5 if has_objectness else 4
    # Fewer names than values: masks or keypoints follow the classes.
    classes = min(rows.width - first, seen.labels or rows.width)
    more = rows.width - first - classes
    coding = box_coding(rows.values[:, :4], grids)
    decode, order = coding.decode or "offsets", coding.order
    if not coding.decode and seen.anchors:
        decode, order = "anchors", "anchors"
    elif not coding.decode:
        alone = sum(other.count == rows.count for other in seen.rows) == 1
        _refuse_unless_offsets(rows, grids, alone=alone)
    parts = f"{rows.width} values = box, {'objectness, ' if has_objectness else ''}{count_classes(classes)}"
    if rows.layout == "columns" and more == 1:
        parts += ", the angle of a turned box, which is drawn upright"
    elif more:
        parts += f", {more} more"
    sigmoid = "none" if are_probabilities(rows.values[:, 4 : first + classes]) else "sigmoid"
    return Head(
        rows.layout, classes, (rows.name,), (rows.name,), (rows.name,) if has_objectness else (), grids,
        score_at=first, decode=decode, unit=coding.unit, order=order,
        activation=sigmoid, objectness_activation=sigmoid,
        anchors=seen.anchors if decode == "anchors" else (),
        why=f"{sum_rows(grids)}; {parts}; {coding.why}",
    )  # fmt: skip


def _refuse_unless_offsets(rows: Rows, grids: Sequence[Grid], *, alone: bool) -> None:
    """Boxes that are not decoded are taken for YOLOX's only where nothing speaks against it.

    `alone`: no other output has a row for each of them. If one has, it holds the scores, as BlazeFace's does.
    """
    anchors = max(grid.per_cell for grid in grids)
    if anchors > 1 and alone:
        raise NoHeadError(
            f"the boxes of '{rows.name}' are not decoded and have {anchors} anchors in each cell: "
            "name them with --head '{\"anchors\": [[w,h,…], …]}', one list per stride, in pixels (boxes as "
            "YOLOv5 and v7 encode them)"
        )
    if not alone or are_probabilities(rows.values[:, :4]):  # offsets and logarithms of sizes have any sign
        raise NoHeadError(
            f"the {rows.width} values in each row of '{rows.name}' are of no known head; if you know it, say "
            '--head \'{"decode": …, "box_at": …, "score_at": …, "classes": …}\' (docs/detectors.md)'
        )


def _with_distribution(rows: Rows, grids: Sequence[Grid], labels: int | None) -> Head | None:
    """Class scores, then the distributions of a box's four sides: NanoDet-Plus."""
    for bins in DFL_BINS:
        classes = rows.width - 4 * bins
        if classes < 1 or (labels is not None and classes != labels):
            continue
        scores, boxes = rows.values[:, :classes], rows.values[:, classes:]
        if are_probabilities(scores) and not are_probabilities(boxes):
            return Head(
                rows.layout, classes, (rows.name,), (rows.name,), grids=tuple(grids), score_at=0,
                box_at=classes, decode="distribution", bins=bins, centre=0.0,
                why=f"{sum_rows(grids)}; {rows.width} values = {classes} classes, 4·{bins} of a box",
            )  # fmt: skip
    return None


def _one_grid(seen: _Seen) -> Head | None:
    """A single N×(1+4+C)×h×w: FastestDet."""
    for name, array in seen.outputs.items():
        rows = as_grid(name, array, seen.size)
        if rows is None or rows.grid is None or rows.width < 6 or not are_probabilities(rows.values[:, :1]):
            continue
        if sum_to_one(rows.values[:, 5:]):
            return Head(
                "grid", rows.width - 5, (name,), (name,), (name,), (rows.grid,), box_at=1, score_at=5,
                objectness_at=0, decode="tanh", powers=(0.6, 0.4),
                why=f"one grid of stride {rows.grid.stride:g}: objectness, box, {rows.width - 5} classes",
            )  # fmt: skip
    return None


def _does_not_add_up(rows: Rows, size: Size) -> str:
    return (
        f"the {rows.count} rows of '{rows.name}' are not the cells of strides 8, 16, 32… of a picture of "
        f"{size[0]}×{size[1]}"
    )
