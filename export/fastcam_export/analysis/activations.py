"""What is known about the values of a tensor: activated or not, non-negative or signed, and their bound."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import onnx_ir as ir

from .operators import Sign, activation_of, facts, fused_limits
from .patterns import gated_input, largest_dequantized, quantized_from_zero
from .values import constant, scalar


class Kind(IntEnum):
    """The kind of operation that computes a tensor. A higher kind is a better tap."""

    OTHER = 0
    RESIDUAL = 1
    """A sum of branches that no activation follows, such as the end of a ConvNeXt stage."""
    SIGNED = 2
    """The result of an activation with negative values: SiLU, HardSwish, GELU, LeakyReLU…"""
    NON_NEGATIVE = 3


def kinds(path: list[ir.Node]) -> dict[str, Kind]:
    """The kind of every tensor on the picture's path, by name."""
    known: dict[str, Kind] = {}
    for node in path:
        kind = _kind(node, known)
        for value in node.outputs:
            if value.name:
                # Further outputs are masks and indices, except those of Split.
                alike = value is node.outputs[0] or node.op_type == "Split"
                known[value.name] = kind if alike else Kind.OTHER
    return known


def _kind(node: ir.Node, known: dict[str, Kind]) -> Kind:
    op = activation_of(node)
    sign = facts(op).sign
    if sign == Sign.NON_NEGATIVE:
        return Kind.NON_NEGATIVE
    if sign == Sign.SIGNED:
        return Kind.SIGNED
    if sign == Sign.OF_INPUT:
        kind = _of(node.inputs[0], known)
        return kind if _keeps_sign(node) else min(kind, Kind.SIGNED)
    if sign == Sign.OF_INPUTS:
        return _joint_kind(node, known)
    if op == "Clip":
        low = clip_limit(node, "min")
        return Kind.NON_NEGATIVE if low is not None and low >= 0 else Kind.SIGNED
    if op == "ThresholdedRelu":
        return Kind.NON_NEGATIVE if node.attributes.get_float("alpha", 1.0) >= 0 else Kind.SIGNED
    if op == "QuantizeLinear":
        return Kind.NON_NEGATIVE if quantized_from_zero(node) else _of(node.inputs[0], known)
    if op == "Pad":
        fill = scalar(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] is not None else 0.0
        padding = Kind.NON_NEGATIVE if fill is not None and fill >= 0 else Kind.SIGNED
        return min(_of(node.inputs[0], known), padding)
    if op == "Mul":
        return _product_kind(node, known)
    if op == "Div" and constant(node.inputs[1]) is not None:
        return min(_of(node.inputs[0], known), _of(node.inputs[1], known))
    return Kind.OTHER


def _keeps_sign(node: ir.Node) -> bool:
    """Whether the operator keeps the sign. A bicubic Resize overshoots at edges; an LRN may divide by < 0."""
    if node.op_type == "Resize":
        return node.attributes.get_string("mode", "nearest") != "cubic"
    if node.op_type == "LRN":
        return node.attributes.get_float("bias", 1.0) > 0 and node.attributes.get_float("alpha", 1e-4) >= 0
    return True


def _of(value: ir.Value | None, known: dict[str, Kind]) -> Kind:
    """The kind of an operand. The kind of a constant depends on its sign."""
    if value is None:
        return Kind.NON_NEGATIVE
    if value.name in known:
        return known[value.name]
    array = constant(value)
    if array is None:
        return Kind.OTHER
    return Kind.NON_NEGATIVE if array.size and np.min(array.astype(np.float32)) >= 0 else Kind.SIGNED


def _joint_kind(node: ir.Node, known: dict[str, Kind]) -> Kind:
    """The kind of a concatenation, a minimum or maximum, or a sum: the lowest kind of its operands."""
    operands = [_of(value, known) for value in node.inputs]
    kind = min(operands)
    if node.op_type == "Max" and Kind.NON_NEGATIVE in operands:
        return Kind.NON_NEGATIVE  # Max(x, 0) is a ReLU
    if node.op_type in ("Concat", "Min") or kind >= Kind.SIGNED:
        return kind
    branches = [value for value in node.inputs if value is not None and value.name in known]
    return kind if len(branches) < 2 else Kind.RESIDUAL


def _product_kind(node: ir.Node, known: dict[str, Kind]) -> Kind:
    """A gated activation x·σ(x) is signed. A gate on an activated tensor leaves it activated."""
    a, b = node.inputs[:2]
    if a is None or b is None:
        return Kind.OTHER
    kind = min(_of(a, known), _of(b, known))
    if kind >= Kind.SIGNED:
        return kind
    if gated_input(node, lambda value: _of(value, known) >= Kind.SIGNED) is not None:
        return Kind.SIGNED
    if constant(a) is not None or constant(b) is not None:
        # A scaled activation is still an activation, for constants of either sign.
        return max(Kind.OTHER, min(Kind.SIGNED, max(known.get(v.name or "", Kind.OTHER) for v in (a, b))))
    return Kind.OTHER


def upper_bound(value: ir.Value | None) -> float | None:
    """An upper bound of a non-negative `value`; None if unknown."""
    node = value.producer() if value is not None else None
    if node is None:
        return None
    activation = activation_of(node)
    if activation == "Clip":
        return clip_limit(node, "max")
    if facts(activation).upper_bound is not None:
        return facts(activation).upper_bound
    if node.op_type == "DequantizeLinear":
        return largest_dequantized(node)
    if node.op_type == "Min":
        limits = [limit(operand) for operand in node.inputs for limit in (scalar, upper_bound)]
        return min((limit for limit in limits if limit is not None), default=None)
    return upper_bound(node.inputs[0]) if facts(node.op_type).keeps_bound else None


def clip_limit(node: ir.Node, which: str) -> float | None:
    """The limit `min` or `max` of a Clip, where it is a constant."""
    fused = fused_limits(node)
    if fused is not None:
        return fused[which == "max"] if len(fused) == 2 else None
    if which in node.attributes:  # opset 6
        return node.attributes[which].as_float()
    index = {"min": 1, "max": 2}[which]
    return scalar(node.inputs[index]) if len(node.inputs) > index else None
