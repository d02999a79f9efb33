"""Recognise the head of a one-stage detector from the shapes and values of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from fastcam_runtime.detect.head import Grid, Head
from fastcam_runtime.errors import FastcamError

from .coding import are_probabilities, box_coding, sum_to_one
from .outputs import Rows, as_grid, as_rows, grid_of_one, grids_for

Size = tuple[int, int]
Parts = Callable[[int], tuple[Grid, ...]]
"""From a number of rows to the grids that the graph concatenates into them."""

DFL_BINS = (8, 16, 17, 32)
"""Values per side of the distributions that detectors are trained with."""


class NoHeadError(FastcamError):
    """The outputs do not match any known head; the message says why."""


def recognise(
    outputs: Mapping[str, np.ndarray], size: Size, *, labels: int | None = None, parts: Parts | None = None
) -> Head:
    """The head behind the outputs of one run.

    Args:
        outputs: Every output of the network for one picture, by name, without the batch dimension.
        size: Height and width of its input.
        labels: The number of class names in the file, if any: this determines how many values are classes.
        parts: Searches the graph for grids with different numbers of anchors.

    Raises:
        NoHeadError: The outputs are not those of a known head.
    """
    seen = _Seen(outputs, size, labels, parts or (lambda rows: ()))
    for look in (_per_stride, _separate, _dense, _one_grid, _end_to_end):
        head = look(seen)
        if head is not None:
            return head
    raise NoHeadError(f"no known detector's head has the outputs {seen}")


class _Seen:
    """The outputs of one run, as rows."""

    def __init__(
        self, outputs: Mapping[str, np.ndarray], size: Size, labels: int | None, parts: Parts
    ) -> None:
        self.outputs = outputs
        self.size = size
        self.labels = labels
        self._parts = parts
        self.rows = [
            rows for name, array in outputs.items() if (rows := as_rows(name, array, size)) is not None
        ]

    def grids(self, rows: Rows) -> tuple[Grid, ...]:
        """The grids of an output that holds all rows; empty where the rows do not add up."""
        return grids_for(rows.count, self.size) or self._parts(rows.count)

    def __str__(self) -> str:
        shapes = (f"'{name}' {'×'.join(map(str, array.shape))}" for name, array in self.outputs.items())
        return f"{', '.join(shapes)} (of one picture of {self.size[0]}×{self.size[1]})"


def _per_stride(seen: _Seen) -> Head | None:
    """One output for each stride and kind: YuNet, SCRFD, NanoDet, PicoDet, raw YOLO heads."""
    raw = _raw_grids(seen)
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
    what = f"{width} class{'' if width == 1 else 'es'}{' and objectness' if twice else ''}"
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
        why=f"one output per stride {_listed(grids)}: {what}, boxes of {box_width} values ({decode})",
    )


def _raw_grids(seen: _Seen) -> Head | None:
    """N×V×h×w for two strides or more: the heads of YOLO before anything is decoded."""
    found = [as_grid(name, array, seen.size) for name, array in seen.outputs.items()]
    grids = sorted((rows for rows in found if rows is not None), key=lambda rows: _stride(rows))
    widths = {rows.width for rows in grids}
    if len(grids) < 2 or len(widths) != 1 or len({_stride(rows) for rows in grids}) != len(grids):
        return None
    width = widths.pop()
    names = tuple(rows.name for rows in grids)
    cells = tuple(rows.grid for rows in grids if rows.grid is not None)
    if seen.labels == width - 64 or (seen.labels is None and width == 144):
        return Head(
            "grid", width - 64, names, names, grids=cells, score_at=64, decode="distribution", bins=16,
            activation="sigmoid", family="yolov8",
            why=f"raw grids of strides {_listed(cells)}: 4·16 values of a box, {width - 64} classes",
        )  # fmt: skip
    if width % 3 == 0 and width // 3 > 5:
        raise NoHeadError(
            f"the outputs {', '.join(names)} are raw grids of 3 anchors with {width // 3 - 5} classes, and "
            "the file does not hold the anchors: name them with --head '{\"anchors\": [[w,h,w,h,w,h], …]}', "
            "one list per stride, in pixels"
        )
    return None


def _stride(rows: Rows) -> float:
    assert rows.grid is not None
    return rows.grid.stride


def _separate(seen: _Seen) -> Head | None:
    """Scores N×A×C and boxes N×A×4: SSD, UltraFace, RetinaNet-like."""
    for boxes in (rows for rows in seen.rows if rows.width == 4 and rows.layout == "rows"):
        if sum_to_one(boxes.values):
            continue  # three classes and a background
        others = [r for r in seen.rows if r.count == boxes.count and r is not boxes and r.layout == "rows"]
        if not others:
            continue
        scores = max(others, key=lambda r: (r.width == seen.labels, are_probabilities(r.values), r.width))
        grids = seen.grids(boxes)
        if not grids:
            raise NoHeadError(_does_not_add_up(boxes, seen.size))
        coding = box_coding(boxes.values, grids)
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
            why=f"{_rows(grids)}; {classes} class{'' if classes == 1 else 'es'}{what}; {coding.why}",
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
    has_objectness = rows.layout == "rows" and rows.width > 5
    if seen.labels in (rows.width - 4, rows.width - 5):
        has_objectness = seen.labels == rows.width - 5
    first = 5 if has_objectness else 4
    # Fewer names than values: masks or keypoints follow the classes.
    classes = min(rows.width - first, seen.labels or rows.width)
    more = rows.width - first - classes
    coding = box_coding(rows.values[:, :4], grids)
    if not coding.decode and any(grid.per_cell > 1 for grid in grids):
        raise NoHeadError(
            f"the boxes of '{rows.name}' are not decoded and have {grids[0].per_cell} anchors in each cell: "
            'name them with --head \'{"decode": "anchors", "anchors": [[w,h,…], …]}\''
        )
    parts = f"{rows.width} values = box, {'objectness, ' if has_objectness else ''}{classes} classes"
    parts += f", {more} more" if more else ""
    sigmoid = "none" if are_probabilities(rows.values[:, 4 : first + classes]) else "sigmoid"
    return Head(
        rows.layout, classes, (rows.name,), (rows.name,), (rows.name,) if has_objectness else (), grids,
        score_at=first, decode=coding.decode or "offsets", unit=coding.unit, order=coding.order,
        activation=sigmoid, objectness_activation=sigmoid,
        why=f"{_rows(grids)}; {parts}; {coding.why}",
    )  # fmt: skip


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
                why=f"{_rows(grids)}; {rows.width} values = {classes} classes, 4·{bins} of a box",
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


def _end_to_end(seen: _Seen) -> Head | None:
    """N×D×6, boxes that the network has selected itself: YOLOv10, RT-DETR-like."""
    for rows in seen.rows:
        if rows.width != 6 or rows.layout != "rows":
            continue
        scores, classes = rows.values[:, 4], rows.values[:, 5]
        if are_probabilities(scores) and np.allclose(classes, np.rint(classes)) and classes.min() >= 0:
            count = seen.labels or int(classes.max()) + 1
            unit = "fraction" if float(np.abs(rows.values[:, :4]).max()) < 4 else "pixels"
            return Head(
                "end_to_end", count, (rows.name,), (rows.name,), score_at=4, decode="xyxy", unit=unit,
                why=f"{rows.count} rows of corners, score and class: the network chooses its boxes itself",
            )  # fmt: skip
    return None


def _listed(grids: Sequence[Grid]) -> str:
    return ", ".join(f"{grid.stride:g}" for grid in grids)


def _rows(grids: Sequence[Grid]) -> str:
    parts = " + ".join(
        f"{grid.height}·{grid.width}{f'·{grid.per_cell}' if grid.per_cell > 1 else ''}" for grid in grids
    )
    return f"rows {sum(grid.rows for grid in grids)} = {parts} (strides {_listed(grids)})"


def _does_not_add_up(rows: Rows, size: Size) -> str:
    return (
        f"the {rows.count} rows of '{rows.name}' are not the cells of strides 8, 16, 32… of a picture of "
        f"{size[0]}×{size[1]}"
    )
