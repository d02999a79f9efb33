"""A head's rows as tensors of the graph: N×A×V or N×V×A, for all rows or for one grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import onnx_ir as ir
from fastcam_runtime.detect.head import Grid, Head

from ..analysis.values import known_dims
from ..authoring.branch import Branch
from ..authoring.ops import Ops
from ..authoring.tap_input import dequantizer, float_activation


@dataclass(frozen=True)
class Part:
    """The scores of some rows, and what is needed to read them."""

    scores: ir.Value
    """[N,A,V] or [N,V,A]."""
    objectness: ir.Value | None
    """Likewise."""
    axis: int
    """The axis of the values: 2 for [N,A,V], 1 for [N,V,A]."""
    grids: tuple[Grid, ...]
    """The grids of these rows, or all grids of the head."""
    size: ir.Value | None
    """Height and width of the picture where they are free."""

    def _classes(self, op: Ops, head: Head) -> ir.Value:
        """All class scores, [N,A,C] or [N,C,A], after the softmax if the head needs one."""
        scores = op.Softmax(self.scores, axis=self.axis) if head.activation == "softmax" else self.scores
        return op.Slice(scores, [head.score_at], [head.score_at + head.classes], [self.axis])

    def best(self, op: Ops, head: Head) -> ir.Value:
        """The highest class score of each row, [N,A]."""
        return op.reduce("ReduceMax", self._classes(op, head), [self.axis], keepdims=False)

    def best_class(self, op: Ops, head: Head) -> ir.Value:
        """The class of that score, int64 [N,A]."""
        return op.ArgMax(self._classes(op, head), axis=self.axis, keepdims=0)

    def row(self, op: Ops, head: Head, row: ir.Value) -> ir.Value:
        """The class scores of one row of each picture, [N,C]; `row` is int64 [N,1]."""
        classes = self._classes(op, head)
        if self.axis == 2:
            return op.GatherND(classes, row, batch_dims=1)
        index = op.Expand(op.Unsqueeze(row, [2]), op.Concat([1], [head.classes], [1], axis=0))
        return op.Squeeze(op.GatherElements(classes, index, axis=2), [2])

    def of_class(self, op: Ops, head: Head, chosen: ir.Value, one_picture: bool) -> ir.Value:
        """The scores of the chosen classes, [K,A], before the objectness."""
        scores = op.Softmax(self.scores, axis=self.axis) if head.activation == "softmax" else self.scores
        column = op.Add(chosen, head.score_at)
        if one_picture:
            picked = op.Gather(scores, column, axis=self.axis)
            picked = op.Transpose(picked, perm=[0, 2, 1]) if self.axis == 2 else picked
            return op.Squeeze(picked, [0])
        # One class per picture: read only its column, for any number of rows.
        keep = op.Slice(scores, [0], [1], [self.axis])
        index = op.Expand(op.Unsqueeze(column, [1, 2]), op.Shape(keep))
        return op.Squeeze(op.GatherElements(scores, index, axis=self.axis), [self.axis])

    def score(self, op: Ops, head: Head, classes: ir.Value) -> ir.Value:
        """objectness^p · class^q, both as probabilities, of class scores [K,A]."""
        if head.activation == "sigmoid":
            classes = op.Sigmoid(classes)
        if self.objectness is None:
            return classes
        there = op.Gather(self.objectness, head.objectness_at, axis=self.axis)
        if head.objectness_activation == "sigmoid":
            there = op.Sigmoid(there)
        of_object, of_class = head.powers
        return op.Mul(_power(op, there, of_object), _power(op, classes, of_class))

    def cut(self, op: Ops, number: int) -> Part:
        """The rows of one grid."""
        start, end = self.bounds(op, number)
        rows_axis = 3 - self.axis

        def part(value: ir.Value) -> ir.Value:
            result: ir.Value = op.Slice(value, start, end, [rows_axis])
            return result

        objectness = None if self.objectness is None else part(self.objectness)
        return replace(self, scores=part(self.scores), objectness=objectness)

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


def read_parts(op: Ops, head: Head, values: Mapping[str, ir.Value], size: ir.Value | None) -> list[Part]:
    """The rows of a head: one part for all of them, or one per grid. `values` are float32."""
    several = len(head.scores) > 1
    parts = []
    for k, name in enumerate(head.scores):
        own = head.grids[k] if several or head.layout == "grid" else None
        there = head.objectness[k] if head.objectness else None
        scores = _laid_out(op, head, values[name], own)
        objectness = None
        if there is not None:
            objectness = scores if there == name else _laid_out(op, head, values[there], own)
        parts.append(Part(scores, objectness, 2 if head.layout == "rows" else 1, head.grids, size))
    return parts


def _laid_out(op: Ops, head: Head, value: ir.Value, grid: Grid | None) -> ir.Value:
    """An output with rank 3: N×A×V or N×V×A."""
    dims = known_dims(value) or ()
    if head.layout == "grid" and grid is not None:
        planes = op.Reshape(value, [0, grid.per_cell, (dims[1] or 0) // grid.per_cell, -1])
        if grid.per_cell == 1:
            return op.Squeeze(planes, [1])
        moved = op.Transpose(planes, perm=[0, 2, 1, 3])
        return op.Reshape(moved, [0, 0, -1])
    if len(dims) in (0, 3):
        return value
    rows = head.rows if grid is None else grid.rows
    return op.Reshape(value, [-1, rows, dims[-1] or 1])


def _power(op: Ops, values: ir.Value, exponent: float) -> ir.Value:
    if exponent == 1:
        return values
    return op.Sqrt(values) if exponent == 0.5 else op.Pow(values, exponent)


def read_outputs(branch: Branch, head: Head, model: ir.Model) -> dict[str, ir.Value]:
    """The tensors that a class map reads, as float32, by their names in the head."""
    known = {value.name: value for node in model.graph for value in node.outputs}
    read = {}
    for name in dict.fromkeys((*head.scores, *head.objectness)):
        value = known[name]
        plain = value.dtype == ir.DataType.FLOAT and dequantizer(value) is None
        read[name] = value if plain else float_activation(branch, value, f"cam/{name}")
        if read[name].shape is None:
            read[name].shape = value.shape
    return read
