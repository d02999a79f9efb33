"""Groups of nodes with one meaning: a quantisation without negative values, a gated activation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from .operators import facts
from .values import constant_behind, scalar

MOST_NODES = 8
"""The largest number of nodes between a tensor and a gate that is computed from it."""


def quantized_from_zero(node: ir.Node) -> bool:
    """Whether the integers of a QuantizeLinear or DequantizeLinear can encode no negative number.

    That is so if the zero point is the lowest value of its type.
    """
    zero_point = _zero_point(node)
    return zero_point is not None and bool(np.all(zero_point == np.iinfo(zero_point.dtype).min))


def largest_dequantized(node: ir.Node) -> float | None:
    """The largest number that the integers of a DequantizeLinear can encode; None if it is unknown."""
    zero_point, scale = _zero_point(node), constant_behind(node.inputs[1])
    if zero_point is None or scale is None or not np.all(scale > 0):
        return None
    steps = np.iinfo(zero_point.dtype).max - zero_point.astype(np.float64)
    return float(np.max(steps * scale.astype(np.float64)))


def _zero_point(node: ir.Node) -> np.ndarray | None:
    """The constant zero point, an integer; None if it is unknown. A missing one is 0."""
    given = node.inputs[2] if len(node.inputs) > 2 else None
    zero_point = constant_behind(given)
    if given is None:
        dtype = _integer_type(node)
        zero_point = np.zeros(1, dtype.numpy()) if dtype is not None else None
    return zero_point if zero_point is not None and zero_point.dtype.kind in "iu" else None


def _integer_type(node: ir.Node) -> ir.DataType | None:
    """The type of the integers of a node that has no zero point."""
    if node.op_type == "QuantizeLinear":
        return ir.DataType(node.attributes.get_int("output_dtype", 0) or ir.DataType.UINT8)
    return node.inputs[0].dtype if node.inputs[0] is not None else None


def gated_input(node: ir.Node, is_activated: Callable[[ir.Value], bool]) -> ir.Value | None:
    """x if `node` computes x·σ(x) (SiLU, HardSwish, Mish or GELU from basic operators), else None.

    `is_activated` tells whether a value is the result of an activation function, perhaps scaled.
    """
    if node.op_type != "Mul" or len(node.inputs) != 2:
        return None
    a, b = node.inputs
    if a is None or b is None:
        return None
    for x, gate in ((a, b), (b, a)):
        if is_activated(gate) and _is_computed_from(gate, x):
            return x
        if _is_gelu_gate(gate):
            # x may be halved: (x/2)·(1 + erf(x/√2)). The gate then reads x before the division.
            whole = _without_factor(x)
            for origin in (x, whole):
                if origin is not None and _is_computed_from(gate, origin):
                    return origin
    return None


def _is_computed_from(gate: ir.Value, x: ir.Value, most: int = MOST_NODES) -> bool:
    """Whether `gate` is computed from `x` element by element, within a few nodes."""
    node = gate.producer()
    if node is None or most == 0 or facts(node.op_type).mixes:
        return False
    return any(v is x or (v is not None and _is_computed_from(v, x, most - 1)) for v in node.inputs)


def _is_gelu_gate(gate: ir.Value) -> bool:
    """1 + erf(…) or 1 + tanh(…), perhaps scaled."""
    value: ir.Value | None = gate
    while value is not None and (inner := _without_factor(value)) is not None:
        value = inner
    node = value.producer() if value is not None else None
    if node is None or node.op_type != "Add":
        return False
    producers = [v.producer() for v in node.inputs if v is not None]
    return any(p is not None and p.op_type in ("Erf", "Tanh") for p in producers)


def _without_factor(value: ir.Value) -> ir.Value | None:
    """The other factor if `value` is a product with a constant number, else None."""
    node = value.producer()
    if node is None or node.op_type not in ("Mul", "Div"):
        return None
    others = [v for v in node.inputs if v is not None and scalar(v) is None]
    return others[0] if len(others) == 1 else None
