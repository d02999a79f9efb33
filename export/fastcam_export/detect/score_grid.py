"""The class map of a detector: the scores of a class on the grids of its head, as nodes of the graph.

The head scores every class in every cell. For one class that is a map for each stride, which only has to be
read. The class map is the maximum over the strides, each upsampled to the picture's size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.detect.head import Head

from ..authoring.branch import Branch
from ..authoring.ops import Ops
from ..cam.outline import outline
from ..errors import GraftError
from ..method.bilinear import Size
from .rows_in_graph import Part, ScoreTensors


@dataclass(frozen=True)
class ScoreGrids:
    """The scores of the selected classes, one map per stride."""

    maps: list[ir.Value]
    """float32 [K,h,w] each: K classes of one picture, or one class for each of K pictures."""
    sizes: list[Size]


def score_grids(branch: Branch, source: ScoreTensors, wanted: ir.Value, *, one_picture: bool) -> ScoreGrids:
    """Read the scores of the wanted classes from the head.

    Args:
        branch: Gets the nodes `fastcam/cam/…`.
        source: The tensors with the scores, and the head with its grids.
        wanted: int64 [K]: the classes, −1 for the class of the best detection.
        one_picture: The batch is fixed to 1, and any number of classes is allowed.

    Raises:
        GraftError: The rows of the head belong to no grid.
    """
    head = source.head
    if not head.grids:
        raise GraftError(
            f"no class map: the rows of '{head.boxes[0]}' belong to no grid; saliency_map works without it"
        )
    op = Ops(branch.opset)
    selected = _select(op, head, source.parts(op), wanted, one_picture)
    step, inputs = outline(
        op, "SelectDetectedClass", selected, "class", "The wanted class, or the best detection's."
    )
    chosen = branch.call(step, *inputs, name="cam/class")

    every = None
    if len(head.scores) == 1:
        # All strides at once: picking one value per row costs as much time as copying whole rows.
        op = Ops(branch.opset)
        scores = _of_class(op, head, source.parts(op)[0], chosen, one_picture)
        doc = "The scores of the selected class, of all rows."
        step, inputs = outline(op, "ClassScores", scores, "scores", doc)
        every = branch.call(step, *inputs, name="cam/scores")
    maps: list[ir.Value] = []
    for number in range(len(head.grids)):
        # One function per stride, each recorded separately: `outline` takes one result.
        op = Ops(branch.opset)
        parts = source.parts(op)
        part = parts[0] if every is not None else parts[number]
        if every is not None:
            scores = part.cut(op, every, number)
        else:
            scores = _of_class(op, head, part, chosen, one_picture)
        grid = _class_grid(op, head, part, scores, number)
        stride = f"{head.grids[number].stride:g}"
        doc = f"The scores of the selected class on the grid of stride {stride}."
        step, inputs = outline(op, f"ScoreGrid{stride.replace('.', '_')}", grid, "scores", doc)
        maps.append(branch.call(step, *inputs, name=f"cam/stride_{stride}"))
    free = source.size is not None
    return ScoreGrids(maps, [(None, None) if free else (g.height, g.width) for g in head.grids])


def _of_class(op: Ops, head: Head, part: Part, chosen: ir.Value, one_picture: bool) -> ir.Value:
    return part.score(op, head, part.of_class(op, head, chosen, one_picture))


def _select(op: Ops, head: Head, parts: Sequence[Part], wanted: ir.Value, one_picture: bool) -> ir.Value:
    """The class to explain, int64 [K]; a number above the last class selects the last one."""
    if head.classes == 1:
        return op.Mul(wanted, 0)
    best = best_class(op, head, parts)
    selected = op.Where(op.Less(wanted, 0), best, op.Min(wanted, head.classes - 1))
    return selected if one_picture else op.Reshape(selected, op.Shape(best))


def best_class(op: Ops, head: Head, parts: Sequence[Part]) -> ir.Value:
    """The class of the row with the highest score, int64 [N]."""
    rows = row_scores(op, head, parts, lambda part: part.best(op, head))
    return class_of_row(op, head, parts, op.ArgMax(rows, axis=1, keepdims=1))


def row_scores(op: Ops, head: Head, parts: Sequence[Part], read: Callable[[Part], ir.Value]) -> ir.Value:
    """The score of every row, [N,A], for the class scores that `read` takes from each part."""
    scores = [part.score(op, head, read(part)) for part in parts]
    return scores[0] if len(parts) == 1 else op.Concat(*scores, axis=1)


def class_of_row(op: Ops, head: Head, parts: Sequence[Part], row: ir.Value) -> ir.Value:
    """The class with the highest score in one row of each picture, int64 [N]; `row` is int64 [N,1]."""
    if len(parts) == 1:
        return op.ArgMax(parts[0].row(op, head, row), axis=1, keepdims=0)
    classes = op.Concat(*(part.best_class(op, head) for part in parts), axis=1)
    return op.Squeeze(op.GatherElements(classes, row, axis=1), [1])


def _class_grid(op: Ops, head: Head, part: Part, scores: ir.Value, number: int) -> ir.Value:
    """The scores [K,A] of the rows of one grid in its cells, [K,h,w]."""
    height, width = part.sides(op, number)
    per_cell = head.grids[number].per_cell
    if per_cell == 1:
        return op.Reshape(scores, op.Concat([-1], height, width, axis=0))
    if head.order == "cells":
        cells = op.Reshape(scores, op.Concat([-1], height, width, [per_cell], axis=0))
        return op.reduce("ReduceMax", cells, [3], keepdims=False)
    cells = op.Reshape(scores, op.Concat([-1], [per_cell], height, width, axis=0))
    return op.reduce("ReduceMax", cells, [1], keepdims=False)
