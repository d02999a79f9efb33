"""How large a tensor's values can get, where an activation function says so."""

from __future__ import annotations

import onnx_ir as ir

from .constants import scalar
from .optimised import activation_of, fused_limits

_UP_TO_ONE = frozenset({"Sigmoid", "HardSigmoid", "Softmax", "Tanh", "Softsign"})
_KEEPING = frozenset({"Identity", "Dropout", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})
"""Operators whose result is nowhere larger than their first input, if that has no negative values."""


def upper_bound(value: ir.Value | None) -> float | None:
    """A number that no element of a non-negative `value` exceeds; None where none is known."""
    node = value.producer() if value is not None else None
    if node is None:
        return None
    if activation_of(node) == "Clip":
        return clip_limit(node, "max")
    if activation_of(node) in _UP_TO_ONE:
        return 1.0
    if node.op_type == "Min":
        limits = [limit(operand) for operand in node.inputs for limit in (scalar, upper_bound)]
        return min((limit for limit in limits if limit is not None), default=None)
    return upper_bound(node.inputs[0]) if node.op_type in _KEEPING else None


def clip_limit(node: ir.Node, which: str) -> float | None:
    """The limit `min` or `max` of a Clip, where it is a constant."""
    fused = fused_limits(node)
    if fused is not None:
        return fused[which == "max"] if len(fused) == 2 else None
    if which in node.attributes:  # opset 6
        return node.attributes[which].as_float()
    index = {"min": 1, "max": 2}[which]
    return scalar(node.inputs[index]) if len(node.inputs) > index else None
