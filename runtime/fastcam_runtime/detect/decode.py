"""From the outputs of a head to boxes in pixels of the network's input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..image import Array
from .boxes import Size, decode_boxes, sigmoid
from .head import Head


@dataclass(frozen=True)
class Candidates:
    """Rows whose score is high enough, in row order."""

    rows: Array
    """int64 [M]."""
    classes: Array
    """int64 [M]: each row's class with the highest score."""
    scores: Array
    """float32 [M]."""
    boxes: Array
    """float32 [M,4]: left, top, right, bottom, in pixels of the input."""


def find_candidates(head: Head, outputs: Mapping[str, Array], size: Size, least: float) -> Candidates:
    """The rows that score at least `least`, decoded.

    Args:
        head: The head, from the file's metadata.
        outputs: The head's outputs for one picture, without the batch dimension.
        size: Height and width of the network's input.
        least: The lowest score.

    Raises:
        ModelError: The outputs do not fit the head: another number of rows, or scores outside 0…1.
    """
    if head.layout == "end_to_end":
        return _end_to_end(head, outputs, size, least)
    rows, best, classes = best_scores(head, outputs, least)
    boxes = decode_boxes(
        head, _gather(head, outputs, head.boxes, head.box_at, _box_values(head), rows), rows, size
    )
    return Candidates(rows, classes, best, boxes)


def best_scores(head: Head, outputs: Mapping[str, Array], least: float) -> tuple[Array, Array, Array]:
    """The rows whose highest score is at least `least`, int64 [M]; these scores, float32 [M]; their classes.

    Rows are dropped early: first by their objectness, then by their highest score. The class is determined
    only for the rows that remain.

    Raises:
        ModelError: As in `find_candidates`.
    """
    scores = rows_of(head, outputs, head.scores)
    count = sum(map(len, scores))
    there, rows = None, np.arange(count)
    of_object, of_class = head.powers
    if head.objectness:
        column = head.objectness_at
        there = np.concatenate([part[:, column] for part in rows_of(head, outputs, head.objectness)])
        there = _probabilities(
            there.astype(np.float32), head.objectness_activation, "objectness", head.objectness[0]
        )
        there = _power(there, of_object)
        rows = np.flatnonzero(there >= least)
        there = there[rows]
    few = len(rows) < count
    values = _take(scores, rows) if few or len(scores) > 1 else scores[0]
    own = values[:, head.score_at : head.score_at + head.classes]
    best = own.max(axis=1).astype(np.float32)
    if head.activation == "softmax":
        best = _softmax(best, values)
    best = _power(_probabilities(best, head.activation, "scores", head.scores[0]), of_class)
    best = best if there is None else there * best
    kept = np.flatnonzero(best >= least)
    return rows[kept], best[kept], own[kept].argmax(axis=1)


def _take(parts: Sequence[Array], rows: Array) -> Array:
    """These rows, whichever part they are in; `rows` are ascending."""
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    cuts = np.searchsorted(rows, bounds)
    return np.concatenate([part[rows[cuts[k] : cuts[k + 1]] - bounds[k]] for k, part in enumerate(parts)])


def rows_of(head: Head, outputs: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
    """The outputs `names` as rows, [A,V]: one array for all rows, or one per grid.

    Raises:
        ModelError: Their size does not fit the grids.
    """
    grids = head.grids if len(names) == len(head.grids) else (None,) * len(names)
    found = []
    for name, grid in zip(names, grids, strict=True):
        array = outputs[name]
        if not head.grids:
            found.append(array.reshape(-1, array.shape[-1]))
            continue
        rows = head.rows if grid is None else grid.rows
        if rows == 0 or array.size % rows or array.size == 0:
            shape = "×".join(map(str, array.shape))
            raise ModelError(f"the detector's output '{name}' is {shape}, not {rows} rows as its file says")
        if head.layout == "columns":
            found.append(array.reshape(-1, rows).T)
        elif head.layout == "grid" and grid is not None:
            planes = array.reshape(grid.per_cell, -1, grid.height * grid.width)
            found.append(planes.transpose(0, 2, 1).reshape(rows, -1))
        else:
            found.append(array.reshape(rows, -1))
    return found


def _box_values(head: Head) -> int:
    return 4 * head.bins if head.decode == "distribution" else 4


def _gather(
    head: Head, outputs: Mapping[str, Array], names: Sequence[str], first: int, count: int, rows: Array
) -> Array:
    """Values `first` to `first + count` of these rows, whichever output they are in."""
    parts = [part[:, first : first + count] for part in rows_of(head, outputs, names)]
    return _take(parts, rows)


def _end_to_end(head: Head, outputs: Mapping[str, Array], size: Size, least: float) -> Candidates:
    """Rows of box, score and class, from a network with its own NMS."""
    boxes = outputs[head.boxes[0]]
    boxes = boxes.reshape(-1, boxes.shape[-1])
    scores = _column(outputs[head.scores[0]], len(boxes), head.score_at, head.scores[0])
    scores = _probabilities(scores.astype(np.float32), head.activation, "scores", head.scores[0])
    kept = np.flatnonzero(scores >= least)
    name = (head.indices or head.scores)[0]
    classes = np.rint(_column(outputs[name], len(boxes), head.index_at, name)[kept]).astype(np.int64)
    found = decode_boxes(head, boxes[kept, head.box_at : head.box_at + 4], kept, size)
    return Candidates(kept, classes, scores[kept], found)


def _column(array: Array, rows: int, at: int, name: str) -> Array:
    """Value `at` of each of the rows, [rows]; an array with one value per row is such a column itself."""
    if array.size == rows:
        return array.reshape(-1)
    if array.shape[-1] <= at or array.size != rows * array.shape[-1]:
        shape = "×".join(map(str, array.shape))
        raise ModelError(f"the detector's output '{name}' is {shape}, not {rows} rows as its boxes")
    return array.reshape(rows, -1)[:, at]


def _probabilities(values: Array, activation: str, what: str, output: str) -> Array:
    if activation == "sigmoid":
        return sigmoid(values)
    if values.size and not (values.min() >= -_ROUNDING and values.max() <= 1 + _ROUNDING):
        raise ModelError(
            f"the detector's {what} in '{output}' are {values.min():.3g}…{values.max():.3g}, not 0…1: "
            "export the file again with --head"
        )
    return np.clip(values, 0, 1)


_ROUNDING = 1e-3
"""Tolerance around 0…1 for half-precision and quantised networks."""


def _softmax(best: Array, rows: Array) -> Array:
    """The softmax of the value `best` of each row, [A], among all values of the row, [A,V]."""
    most = rows.max(axis=1)
    result: Array = np.exp(best - most) / np.exp(rows - most[:, None]).sum(axis=1)
    return result


def _power(values: Array, exponent: float) -> Array:
    return values if exponent == 1 else values**exponent
