"""What is known of a tensor's values: activated or not, and never negative or signed."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import onnx_ir as ir

from .bounds import clip_limit
from .constants import constant, scalar
from .optimised import CONVOLUTIONS, activation_of


class Kind(IntEnum):
    """How far a tensor is on the way to a tap; a higher kind is a better one."""

    OTHER = 0
    RESIDUAL = 1
    """A sum of branches without an activation behind it: the end of a ConvNeXt stage."""
    SIGNED = 2
    """Behind an activation that lets negative values through: SiLU, HardSwish, GELU, LeakyReLU…"""
    NON_NEGATIVE = 3


NON_NEGATIVE_OPS = frozenset({"Relu", "Sigmoid", "HardSigmoid", "Softplus", "Softmax", "Abs", "Exp"})
SIGNED_OPS = frozenset(
    {"LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "HardSwish", "Swish", "Mish", "Gelu", "FastGelu",
     "QuickGelu", "BiasGelu", "Tanh", "Softsign"}
)  # fmt: skip
FORWARDING = frozenset(
    {"Identity", "Dropout", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice",
     "Split", "Gather", "Expand", "Tile", "DepthToSpace", "SpaceToDepth", "MaxPool", "AveragePool", "LpPool",
     "GlobalAveragePool", "GlobalMaxPool", "Resize", "Upsample", "DequantizeLinear", "LRN"}
)  # fmt: skip
"""Operators whose result is activated where their first input is, and mostly has its sign: `_keeps_sign`."""


def kinds(path: list[ir.Node]) -> dict[str, Kind]:
    """The kind of every tensor on the picture's path, by name."""
    known: dict[str, Kind] = {}
    for node in path:
        kind = _kind(node, known)
        for value in node.outputs:
            if value.name:
                # Further outputs are masks and indices; only Split gives more of the same.
                alike = value is node.outputs[0] or node.op_type == "Split"
                known[value.name] = kind if alike else Kind.OTHER
    return known


def _kind(node: ir.Node, known: dict[str, Kind]) -> Kind:
    op = activation_of(node)
    if op in NON_NEGATIVE_OPS:
        return Kind.NON_NEGATIVE
    if op in SIGNED_OPS:
        return Kind.SIGNED
    if op == "Clip":
        low = clip_limit(node, "min")
        return Kind.NON_NEGATIVE if low is not None and low >= 0 else Kind.SIGNED
    if op == "ThresholdedRelu":
        return Kind.NON_NEGATIVE if node.attributes.get_float("alpha", 1.0) >= 0 else Kind.SIGNED
    if op in FORWARDING:
        kind = _of(node.inputs[0], known)
        return kind if _keeps_sign(node) else min(kind, Kind.SIGNED)
    if op == "QuantizeLinear":
        return Kind.NON_NEGATIVE if _quantized_from_zero(node) else _of(node.inputs[0], known)
    if op == "Pad":
        fill = scalar(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] is not None else 0.0
        return min(
            _of(node.inputs[0], known), Kind.NON_NEGATIVE if fill is not None and fill >= 0 else Kind.SIGNED
        )
    if op in ("Concat", "Min"):
        return min(_of(value, known) for value in node.inputs)
    if op == "Max" and any(_of(value, known) == Kind.NON_NEGATIVE for value in node.inputs):
        return Kind.NON_NEGATIVE  # Max(x, 0) is a ReLU
    if op in ("Add", "Sum", "Max"):
        return _sum_kind(node, known)
    if op == "Mul":
        return _product_kind(node, known)
    if op == "Div" and constant(node.inputs[1]) is not None:
        return min(_of(node.inputs[0], known), _of(node.inputs[1], known))
    return Kind.OTHER


def _keeps_sign(node: ir.Node) -> bool:
    """Not a bicubic Resize, which swings below 0 beside an edge, nor an LRN with a negative divisor."""
    if node.op_type == "Resize":
        return node.attributes.get_string("mode", "nearest") != "cubic"
    if node.op_type == "LRN":
        return node.attributes.get_float("bias", 1.0) > 0 and node.attributes.get_float("alpha", 1e-4) >= 0
    return True


def _of(value: ir.Value | None, known: dict[str, Kind]) -> Kind:
    """The kind of an operand; a constant counts as what its sign allows."""
    if value is None:
        return Kind.NON_NEGATIVE
    if value.name in known:
        return known[value.name]
    array = constant(value)
    if array is None:
        return Kind.OTHER
    return Kind.NON_NEGATIVE if array.size and np.min(array.astype(np.float32)) >= 0 else Kind.SIGNED


def _sum_kind(node: ir.Node, known: dict[str, Kind]) -> Kind:
    kind = min(_of(value, known) for value in node.inputs)
    branches = [value for value in node.inputs if value is not None and value.name in known]
    if kind >= Kind.SIGNED or len(branches) < 2:
        return kind
    return Kind.RESIDUAL


def _product_kind(node: ir.Node, known: dict[str, Kind]) -> Kind:
    """x·σ(x) is an activation (SiLU, HardSwish, GELU); a gate σ(…) on an activated x leaves it activated."""
    a, b = node.inputs[:2]
    if a is None or b is None:
        return Kind.OTHER
    kind = min(_of(a, known), _of(b, known))
    if kind >= Kind.SIGNED:
        return kind
    for x, gate in ((a, b), (b, a)):
        if _of(gate, known) >= Kind.SIGNED and _reads(gate, x):
            return Kind.SIGNED
        if _is_gelu_gate(gate) and (_reads(gate, x) or _scaled_from_same(gate, x)):
            return Kind.SIGNED
    if constant(a) is not None or constant(b) is not None:
        # A scaled activation is still one, whatever the constant's sign does to it.
        return max(Kind.OTHER, min(Kind.SIGNED, max(known.get(v.name or "", Kind.OTHER) for v in (a, b))))
    return Kind.OTHER


_MIXING = CONVOLUTIONS | {"Gemm", "MatMul", "GlobalAveragePool", "ReduceMean"}
"""Operators that compute an element from many."""


def _reads(gate: ir.Value, x: ir.Value, depth: int = 8) -> bool:
    """Is `gate` computed from `x` element by element, within a few nodes?"""
    node = gate.producer()
    if node is None or depth == 0 or node.op_type in _MIXING:
        return False
    return any(v is x or (v is not None and _reads(v, x, depth - 1)) for v in node.inputs)


def _is_gelu_gate(gate: ir.Value) -> bool:
    """1 + erf(…) or 1 + tanh(…), perhaps scaled: the gate of a GELU written out in small operators."""
    node = gate.producer()
    while (
        node is not None
        and node.op_type in ("Mul", "Div")
        and any(scalar(v) is not None for v in node.inputs)
    ):
        inner = next((v for v in node.inputs if v is not None and scalar(v) is None), None)
        node = inner.producer() if inner is not None else None
    if node is None or node.op_type != "Add":
        return False
    producers = [v.producer() for v in node.inputs if v is not None]
    return any(p is not None and p.op_type in ("Erf", "Tanh") for p in producers)


def _scaled_from_same(gate: ir.Value, x: ir.Value) -> bool:
    """x may be the halved input: (x/2)·(1+erf(x/√2)); the gate then reads what x was scaled from."""
    node = x.producer()
    if node is None or node.op_type not in ("Mul", "Div"):
        return False
    origin = next((v for v in node.inputs if v is not None and scalar(v) is None), None)
    return origin is not None and _reads(gate, origin)


def _quantized_from_zero(node: ir.Node) -> bool:
    """A zero point at the type's lowest value can encode no negative number."""
    if len(node.inputs) > 2 and node.inputs[2] is not None:
        zero_point = constant(node.inputs[2])
    else:
        kind = node.attributes.get_int("output_dtype", 0) or ir.DataType.UINT8
        zero_point = np.zeros(1, ir.DataType(kind).numpy())
    if zero_point is None or zero_point.dtype.kind not in "iu":
        return False
    return bool(np.all(zero_point == np.iinfo(zero_point.dtype).min))
