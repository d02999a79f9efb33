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
from ..method.bilinear import FreeSize
from .rows_in_graph import Part, ScoreTensors

COMPILED = "ClassScores"
"""The function that a compiled kernel replaces; one that the kernel cannot compute has another name."""


@dataclass(frozen=True)
class ScoreGrids:
    """The scores of the selected classes: K classes of one picture, or one class for each of K pictures."""

    maps: list[ir.Value]
    """float32: the maps of all strides one after the other, [K,Σh·w], or one map [K,h,w] per stride where
    the sizes are free."""
    sizes: list[FreeSize]


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
    if source.size is not None:
        return ScoreGrids(_free_maps(branch, source, wanted, one_picture), [(None, None)] * len(head.grids))
    op = Ops(branch.opset)
    parts = source.parts(op)
    chosen = _select(op, head, parts, wanted, one_picture)
    scores = [_of_class(op, head, part, chosen, one_picture) for part in parts]
    cells = _cells(op, head, parts, scores)
    result = op.Concat(*cells, axis=1) if len(cells) > 1 else op.Identity(cells[0])
    first = [wanted]
    description = source.description(one_picture=one_picture)
    if description is not None:
        tables = dict.fromkeys(source.values[name] for name in (*head.scores, *head.objectness))
        first += [*tables, branch.constant("cam/head", description)]
    doc = "The scores of the wanted class, or of the best detection's class, in all cells of all strides."
    name = COMPILED if description is not None else f"{COMPILED}Softmax"
    step, inputs = outline(op, name, result, "scores", doc, first=first)
    flat = branch.call(step, *inputs, name="cam/scores")
    return ScoreGrids([flat], [(grid.height, grid.width) for grid in head.grids])


def _cells(op: Ops, head: Head, parts: Sequence[Part], scores: Sequence[ir.Value]) -> list[ir.Value]:
    """The scores of the cells, [K,h·w] for each stride, or [K,Σh·w] of all if that is how they come."""
    if all(grid.per_cell == 1 for grid in head.grids):
        return list(scores)
    return [
        _of_cells(
            op, head, number, scores[number] if len(scores) > 1 else parts[0].cut(op, scores[0], number)
        )
        for number in range(len(head.grids))
    ]


def _free_maps(branch: Branch, source: ScoreTensors, wanted: ir.Value, one_picture: bool) -> list[ir.Value]:
    """One map per stride, [K,h,w], for a picture of any size."""
    head = source.head
    op = Ops(branch.opset)
    selected = _select(op, head, source.parts(op), wanted, one_picture)
    doc = "The wanted class, or the best detection's."
    step, inputs = outline(op, "SelectDetectedClass", selected, "class", doc)
    chosen = branch.call(step, *inputs, name="cam/class")
    maps: list[ir.Value] = []
    for number, grid in enumerate(head.grids):
        # One function per stride, each recorded separately: `outline` takes one result.
        op = Ops(branch.opset)
        parts = source.parts(op)
        part = parts[number if len(parts) > 1 else 0]
        scores = _of_class(op, head, part, chosen, one_picture)
        if len(parts) == 1:
            scores = part.cut(op, scores, number)
        shape = op.Concat([-1], *part.sides(op, number), axis=0)
        large = op.Reshape(_of_cells(op, head, number, scores), shape)
        stride = f"{grid.stride:g}"
        doc = f"The scores of the selected class on the grid of stride {stride}."
        step, inputs = outline(op, f"ScoreGrid{stride.replace('.', '_')}", large, "scores", doc)
        maps.append(branch.call(step, *inputs, name=f"cam/stride_{stride}"))
    return maps


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


def _of_cells(op: Ops, head: Head, number: int, scores: ir.Value) -> ir.Value:
    """The largest score of each cell, [K,h·w], of the rows of one grid, [K,A]."""
    per_cell = head.grids[number].per_cell
    if per_cell == 1:
        return scores
    if head.order == "cells":
        return op.reduce("ReduceMax", op.Reshape(scores, [0, -1, per_cell]), [2], keepdims=False)
    return op.reduce("ReduceMax", op.Reshape(scores, [0, per_cell, -1]), [1], keepdims=False)
