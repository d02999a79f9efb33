"""A head's rows as tensors of the graph: N×A×V or N×V×A, for all rows or for one grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
from fastcam_runtime.detect.head import Grid, Head

from ..analysis.values import known_dims
from ..authoring.branch import Branch
from ..authoring.ops import Ops
from ..authoring.tap_input import dequantizer, float_activation


@dataclass(frozen=True)
class Table:
    """Some rows of values."""

    value: ir.Value
    """[N,A,V] or [N,V,A]."""
    axis: int
    """The axis of the values: 2 for [N,A,V], 1 for [N,V,A]."""
    width: int
    """V; 0 if it is not known."""


@dataclass(frozen=True)
class Part:
    """The scores of some rows, and what is needed to read them."""

    scores: Table
    objectness: Table | None
    grids: tuple[Grid, ...]
    """The grids of these rows, or all grids of the head."""
    size: ir.Value | None
    """Height and width of the picture where they are free."""

    def _classes(self, op: Ops, head: Head) -> ir.Value:
        """All class scores, [N,A,C] or [N,C,A], after the softmax if the head needs one."""
        scores = _activated(op, head, self.scores)
        return op.Slice(scores, [head.score_at], [head.score_at + head.classes], [self.scores.axis])

    def best(self, op: Ops, head: Head) -> ir.Value:
        """The highest class score of each row, [N,A]."""
        return op.reduce("ReduceMax", self._classes(op, head), [self.scores.axis], keepdims=False)

    def best_class(self, op: Ops, head: Head) -> ir.Value:
        """The class of that score, int64 [N,A]."""
        return op.ArgMax(self._classes(op, head), axis=self.scores.axis, keepdims=0)

    def row(self, op: Ops, head: Head, row: ir.Value) -> ir.Value:
        """The class scores of one row of each picture, [N,C]; `row` is int64 [N,1]."""
        classes = self._classes(op, head)
        if self.scores.axis == 2:
            return op.GatherND(classes, row, batch_dims=1)
        index = op.Expand(op.Unsqueeze(row, [2]), op.Concat([1], [head.classes], [1], axis=0))
        return op.Squeeze(op.GatherElements(classes, index, axis=2), [2])

    def of_class(self, op: Ops, head: Head, chosen: ir.Value, one_picture: bool) -> ir.Value:
        """The scores of the chosen classes, [K,A], before the objectness."""
        table = self.scores
        scores, axis = _activated(op, head, table), table.axis
        if table.width == 1:
            # Nothing to pick; copies of the one class if several are wanted. A Gather would go row by row.
            rows = op.Squeeze(scores, [axis])
            return op.Expand(rows, op.Concat(op.Shape(chosen), [1], axis=0)) if one_picture else rows
        column = op.Add(chosen, head.score_at)
        if one_picture:
            picked = op.Gather(scores, column, axis=axis)
            picked = op.Transpose(picked, perm=[0, 2, 1]) if axis == 2 else picked
            return op.Squeeze(picked, [0])
        # One class per picture: read only its column, for any number of rows.
        keep = op.Slice(scores, [0], [1], [axis])
        index = op.Expand(op.Unsqueeze(column, [1, 2]), op.Shape(keep))
        return op.Squeeze(op.GatherElements(scores, index, axis=axis), [axis])

    def score(self, op: Ops, head: Head, classes: ir.Value) -> ir.Value:
        """objectness^p · class^q, both as probabilities, of class scores [K,A]."""
        if head.activation == "sigmoid":
            classes = op.Sigmoid(classes)
        if self.objectness is None:
            return classes
        table = self.objectness
        if table.width == 1:
            there = op.Squeeze(table.value, [table.axis])
        else:
            there = op.Gather(table.value, head.objectness_at, axis=table.axis)
        if head.objectness_activation == "sigmoid":
            there = op.Sigmoid(there)
        of_object, of_class = head.powers
        return op.Mul(_power(op, there, of_object), _power(op, classes, of_class))

    def cut(self, op: Ops, scores: ir.Value, number: int) -> ir.Value:
        """The scores of one grid, from those of all rows, [K,A]."""
        start, end = self.bounds(op, number)
        part: ir.Value = op.Slice(scores, start, end, [1])
        return part

    def sides(self, op: Ops, number: int) -> tuple[ir.Value, ir.Value]:
        """Height and width of one grid, int64 [1] each."""
        grid = self.grids[number]
        if self.size is None:
            return op.const([grid.height]), op.const([grid.width])
        stride = int(grid.stride)
        both = op.Div(op.Add(self.size, stride - 1), stride)
        return op.Slice(both, [0], [1]), op.Slice(both, [1], [2])

    def bounds(self, op: Ops, number: int) -> tuple[ir.Value, ir.Value]:
        """The first row of a grid and the row after its last, int64 [1] each."""
        if self.size is None:
            before = sum(grid.rows for grid in self.grids[:number])
            return op.const([before]), op.const([before + self.grids[number].rows])
        bounds = [op.const([0])]
        for k, grid in enumerate(self.grids[: number + 1]):
            height, width = self.sides(op, k)
            bounds.append(op.Add(bounds[-1], op.Mul(op.Mul(height, width), grid.per_cell)))
        return bounds[number], bounds[number + 1]


@dataclass(frozen=True)
class ScoreTensors:
    """The tensors that hold a head's scores, float32, by their names in the head."""

    head: Head
    values: Mapping[str, ir.Value]
    transposed: frozenset[str]
    """Outputs N×A×V that the network transposes from N×V×A: `values` has this tensor."""
    size: ir.Value | None
    """Height and width of the picture where they are free, int64 [2]."""

    def parts(self, op: Ops) -> list[Part]:
        """The rows of the head: one part for all of them, or one per grid."""
        head = self.head
        several = len(head.scores) > 1
        parts = []
        for k, name in enumerate(head.scores):
            own = head.grids[k] if several or head.layout == "grid" else None
            scores = self._table(op, name, own)
            objectness = None
            if head.objectness:
                there = head.objectness[k]
                objectness = scores if there == name else self._table(op, there, own)
            parts.append(Part(scores, objectness, head.grids, self.size))
        return parts

    def _table(self, op: Ops, name: str, grid: Grid | None) -> Table:
        value = self.values[name]
        if name not in self.transposed:
            return _laid_out(op, self.head, value, grid)
        dims = known_dims(value)
        return Table(value, 1, dims[1] or 0 if dims else 0)

    def description(self, *, one_picture: bool) -> np.ndarray | None:
        """The head as int64, for the compiled kernel of `ClassScores`; None if that cannot read it."""
        head = self.head
        names = (*head.scores, *head.objectness)
        widths = {name: self._width(name) for name in names}
        moved = {name in self.transposed for name in names}
        thousandths = [round(1000 * power) for power in head.powers]
        if (
            head.activation == "softmax"
            or len(moved) > 1
            or 0 in widths.values()
            or [k / 1000 for k in thousandths] != list(head.powers)
            or (head.layout == "grid" and len(head.scores) != len(head.grids))
        ):
            return None
        layout = ("rows", "columns", "grid").index("columns" if moved == {True} else head.layout)
        fields = [
            len(head.scores), head.score_at, head.classes, widths[head.scores[0]],
            head.objectness_at if head.objectness else -1, widths[names[-1]],
            layout, int(head.layout == "grid" or head.order == "anchors"), int(one_picture),
            int(head.activation == "sigmoid"), int(head.objectness_activation == "sigmoid"),
            thousandths[1], thousandths[0],
        ]  # fmt: skip
        grids = [size for grid in head.grids for size in (grid.height, grid.width, grid.per_cell)]
        return np.array([*fields, *grids], np.int64)

    def _width(self, name: str) -> int:
        """V, the values of a row; 0 if it is not known."""
        dims = known_dims(self.values[name]) or ()
        if self.head.layout == "grid":
            return (dims[1] or 0) // self.head.grids[0].per_cell if len(dims) == 4 else 0
        if name in self.transposed or self.head.layout == "columns":
            return dims[1] or 0 if len(dims) == 3 else 0
        return dims[-1] or 0 if dims else 0


def read_scores(branch: Branch, head: Head, model: ir.Model, size: ir.Value | None) -> ScoreTensors:
    """The tensors that a class map reads, as float32."""
    known = {value.name: value for node in model.graph for value in node.outputs}
    read: dict[str, ir.Value] = {}
    transposed = set()
    for name in dict.fromkeys((*head.scores, *head.objectness)):
        value = known[name]
        plain = value.dtype == ir.DataType.FLOAT and dequantizer(value) is None
        read[name] = value if plain else float_activation(branch, value, f"cam/{name}")
        if read[name].shape is None:
            read[name].shape = value.shape
        before = _before_transpose(value) if plain and head.layout == "rows" else None
        if before is not None:
            read[name] = before
            transposed.add(name)
    return ScoreTensors(head, read, frozenset(transposed), size)


def _before_transpose(value: ir.Value) -> ir.Value | None:
    """N×V×A, if `value` is its transpose N×A×V."""
    node = value.producer()
    if node is None or node.op_type != "Transpose" or node.domain not in ("", "ai.onnx"):
        return None
    return node.inputs[0] if list(node.attributes.get_ints("perm", ())) == [0, 2, 1] else None


def _laid_out(op: Ops, head: Head, value: ir.Value, grid: Grid | None) -> Table:
    """An output with rank 3."""
    dims = known_dims(value) or ()
    axis = 2 if head.layout == "rows" else 1
    if head.layout == "grid" and grid is not None:
        width = (dims[1] or 0) // grid.per_cell
        planes = op.Reshape(value, [0, grid.per_cell, width, -1])
        if grid.per_cell == 1:
            return Table(op.Squeeze(planes, [1]), axis, width)
        moved = op.Transpose(planes, perm=[0, 2, 1, 3])
        return Table(op.Reshape(moved, [0, 0, -1]), axis, width)
    if len(dims) in (0, 3):
        return Table(value, axis, dims[axis] or 0 if dims else 0)
    rows = head.rows if grid is None else grid.rows
    return Table(op.Reshape(value, [-1, rows, dims[-1] or 1]), axis, dims[-1] or 1)


def _activated(op: Ops, head: Head, table: Table) -> ir.Value:
    return op.Softmax(table.value, axis=table.axis) if head.activation == "softmax" else table.value


def _power(op: Ops, values: ir.Value, exponent: float) -> ir.Value:
    if exponent == 1:
        return values
    return op.Sqrt(values) if exponent == 0.5 else op.Pow(values, exponent)
