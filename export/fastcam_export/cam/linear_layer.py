"""The linear layer that computes the class scores, with one row of weights per class."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from ..analysis.values import constant_behind, known_dims
from ..authoring.ops import Ops
from ..authoring.tap_input import dequantizer


@dataclass(frozen=True)
class LinearLayer:
    """A Gemm, MatMul or 1×1 Conv whose weights do not depend on the picture."""

    source: ir.Value
    """The layer's input: N×features, or N×features×h×w before a Conv."""
    weight: ir.Value
    class_axis: int
    """The axis of `weight` that counts the classes."""
    alpha: float

    def rows(self, op: Ops, class_index: ir.Value) -> ir.Value:
        """The weights of one class per image: float32 [N, features].

        Only these rows are read: they are gathered first, then converted or dequantised.
        """
        rows = _gather(op, self.weight, self.class_axis, class_index)
        if self.weight.shape is not None and len(self.weight.shape) > 2:
            rows = op.Flatten(rows, axis=1)
        return rows if self.alpha == 1.0 else op.Mul(rows, self.alpha)


def linear_layer(value: ir.Value, path: frozenset[ir.Value]) -> LinearLayer | None:
    """The linear layer that computes `value`, or None; `path` are the values that depend on the tap."""
    node = value.producer()
    if node is None or node.domain != "" or len(node.inputs) < 2:
        return None
    source, weight = node.inputs[0], node.inputs[1]
    if source is None or weight is None or source not in path or not path.isdisjoint(node.inputs[1:]):
        return None
    rank = None if weight.shape is None else len(weight.shape)
    attributes = node.attributes
    if node.op_type == "Gemm" and not attributes.get_int("transA", 0):
        class_axis = 0 if attributes.get_int("transB", 0) else 1
        return LinearLayer(source, weight, class_axis, attributes.get_float("alpha", 1.0))
    if node.op_type == "MatMul" and rank == 2 and source.shape is not None and len(source.shape) == 2:
        return LinearLayer(source, weight, 1, 1.0)
    if node.op_type == "Conv" and _is_pointwise(node, weight):
        return LinearLayer(source, weight, 0, 1.0)
    return None


def _is_pointwise(node: ir.Node, weight: ir.Value) -> bool:
    dims, attributes = known_dims(weight), node.attributes
    return (
        dims is not None
        and set(dims[2:]) == {1}
        and attributes.get_int("group", 1) == 1
        and set(attributes.get_ints("strides", (1,))) == {1}
        and set(attributes.get_ints("pads", (0,))) == {0}
    )


def _gather(op: Ops, weight: ir.Value, axis: int, class_index: ir.Value) -> ir.Value:
    """The classes' slices of `weight`, class axis first, as float32."""
    node = dequantizer(weight)
    if node is not None:
        scale = constant_behind(node.inputs[1])
        per_class = scale is not None and scale.size > 1 and _quantized_axis(node, weight) == axis
        if per_class or (scale is not None and scale.size == 1):
            return _dequantized(op, node, axis, class_index, per_class)
    rows = _first(op, op.Gather(weight, class_index, axis=axis), axis)
    return rows if weight.dtype == ir.DataType.FLOAT else op.Cast(rows, to=ir.DataType.FLOAT)


def _quantized_axis(node: ir.Node, weight: ir.Value) -> int | None:
    """The axis that has one scale per element, or None where a scale is for a block of elements."""
    if node.attributes.get_int("block_size", 0) or weight.shape is None:
        return None
    return node.attributes.get_int("axis", 1) % len(weight.shape)


def _dequantized(op: Ops, node: ir.Node, axis: int, class_index: ir.Value, per_class: bool) -> ir.Value:
    """(q − zero point)·scale of the gathered rows alone."""
    quantized, *parameters = node.inputs
    rows = op.Cast(_first(op, op.Gather(quantized, class_index, axis=axis), axis), to=ir.DataType.FLOAT)
    rank = 2 if quantized is None or quantized.shape is None else len(quantized.shape)

    def aligned(parameter: ir.Value) -> ir.Value:
        """One number for all, or one per row."""
        number = op.Cast(parameter, to=ir.DataType.FLOAT)
        if not per_class:
            return op.Reshape(number, [1])
        return op.Reshape(op.Gather(number, class_index), [-1, *(1,) * (rank - 1)])

    scale, zero_point = parameters if len(parameters) == 2 else (parameters[0], None)
    assert scale is not None
    if zero_point is not None:
        rows = op.Sub(rows, aligned(zero_point))
    return op.Mul(rows, aligned(scale))


def _first(op: Ops, value: ir.Value, axis: int) -> ir.Value:
    return value if axis == 0 else op.Transpose(value, perm=[1, 0])
