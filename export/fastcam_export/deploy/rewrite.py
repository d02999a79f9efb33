"""Equivalent forms with other operators: rules for every operator that a target may lack.

A rule gets the node and an `Ops` to record on. It returns the values that replace the node's outputs, or None
if it does not apply. All shapes are static, with a batch of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx_ir as ir

from ..analysis.values import constant
from ..authoring.ops import Ops
from ..cam.rules.reductions import reduced_axes

Rewrite = Callable[[Ops, ir.Node], ir.Value | Sequence[ir.Value] | None]

_NORMAL_LOGIT = (1.59573942, 0.0727845724, -1.75653052e-4, -7.33869025e-5, 2.8500122e-6)
"""Φ(x) is the sigmoid of an odd polynomial: its coefficients for x, x³, x⁵…, fitted for |x| ≤ 4.5."""
_LARGEST = 4.5
_ROOTS = 7
_SERIES = 6


def shape_of(value: ir.Value) -> list[int]:
    """The static shape of a value."""
    assert value.shape is not None, f"{value.name} has no shape"
    sizes = [size for size in value.shape if isinstance(size, int)]
    assert len(sizes) == len(value.shape), f"{value.name} has a free size"
    return sizes


def split(op: Ops, node: ir.Node) -> Sequence[ir.Value]:
    """Split as one Slice per part."""
    x, axis = node.inputs[0], node.attributes["axis"].as_int()
    ends = np.cumsum([shape_of(output)[axis] for output in node.outputs])
    starts = [0, *ends[:-1]]
    return [op.Slice(x, [int(a)], [int(b)], [axis]) for a, b in zip(starts, ends, strict=True)]


def gather(op: Ops, node: ir.Node) -> ir.Value | None:
    """Gather with constant indices: a Slice if they are equally spaced, else a product with a 0–1 matrix."""
    x, axis = node.inputs[0], node.attributes.get_int("axis", 0)
    index = constant(node.inputs[1])
    assert x is not None
    shape = shape_of(x)
    if index is None or (index < 0).any():
        return None
    steps = np.unique(np.diff(index)) if index.ndim == 1 and index.size > 1 else np.zeros(0)
    if steps.size == 1 and steps[0] > 0:
        return op.Slice(x, [int(index[0])], [int(index[-1]) + 1], [axis], [int(steps[0])])
    if axis != len(shape) - 2:
        return None
    chosen = np.zeros((index.size, shape[axis]), np.float32)
    chosen[np.arange(index.size), index.reshape(-1)] = 1
    rows = op.MatMul(chosen, x)
    return op.Reshape(rows, shape_of(node.outputs[0])) if index.ndim != 1 else rows


def erf(op: Ops, node: ir.Node) -> ir.Value:
    """erf(x) = 2Φ(√2·x) − 1, with Φ as the sigmoid of a polynomial, to 1e-5."""
    x = op.Clip(op.Mul(node.inputs[0], math.sqrt(2)), -_LARGEST, _LARGEST)
    square = op.Mul(x, x)
    *others, last = _NORMAL_LOGIT
    factor: ir.Value = op.Add(op.Mul(square, last), others[-1])
    for coefficient in reversed(others[:-1]):
        factor = op.Add(op.Mul(factor, square), coefficient)
    return op.Sub(op.Mul(op.Sigmoid(op.Mul(x, factor)), 2.0), 1.0)


def hard_sigmoid(op: Ops, node: ir.Node) -> ir.Value:
    """max(0, min(1, αx + β))"""
    alpha, beta = node.attributes.get_float("alpha", 0.2), node.attributes.get_float("beta", 0.5)
    return op.Clip(op.Add(op.Mul(node.inputs[0], alpha), beta), 0.0, 1.0)


def thresholded_relu(op: Ops, node: ir.Node) -> ir.Value:
    """Relu, which keeps values between 0 and the threshold of 1e-6."""
    return op.Relu(node.inputs[0])


def reduce_min_by_max(op: Ops, node: ir.Node) -> ir.Value:
    """−max(−x)"""
    x = node.inputs[0]
    assert x is not None
    keep, axes = bool(node.attributes.get_int("keepdims", 1)), reduced_axes(node, len(shape_of(x)))
    return op.Mul(op.reduce("ReduceMax", op.Mul(x, -1.0), axes, keep), -1.0)


def reduce_min_by_pool(op: Ops, node: ir.Node) -> ir.Value | None:
    """−max(−x), with the maximum over height and width as a pooling."""
    x = node.inputs[0]
    assert x is not None
    if len(shape_of(x)) != 3 or sorted(reduced_axes(node, 3)) != [1, 2]:
        return None
    pooled = op.GlobalMaxPool(op.Mul(_as_picture(op, x), -1.0))
    return op.Mul(op.Reshape(pooled, shape_of(node.outputs[0])), -1.0)


def instance_normalization(op: Ops, node: ir.Node) -> ir.Value:
    """(x − mean)/√(variance + ε)·scale + bias, with the means as poolings; one channel."""
    x, scale, bias = node.inputs
    assert x is not None
    assert scale is not None
    assert bias is not None
    picture = _as_picture(op, x)
    centred = op.Sub(picture, op.GlobalAveragePool(picture))
    variance = op.GlobalAveragePool(op.Mul(centred, centred))
    deviation = op.Sqrt(op.Add(variance, node.attributes.get_float("epsilon", 1e-5)))
    result = op.Add(op.Mul(op.Div(centred, deviation), scale), bias)
    return op.Reshape(result, shape_of(x))


def log(op: Ops, node: ir.Node) -> ir.Value:
    """ln x = 2ⁿ·ln x^(1/2ⁿ): roots bring x near 1, where ln z = 2·artanh((z − 1)/(z + 1)) converges fast."""
    z = node.inputs[0]
    for _ in range(_ROOTS):
        z = op.Sqrt(z)
    t = op.Div(op.Sub(z, 1.0), op.Add(z, 1.0))
    square = op.Mul(t, t)
    total: ir.Value = op.Add(op.Mul(square, 1 / (2 * _SERIES + 1)), 1 / (2 * _SERIES - 1))
    for k in range(_SERIES - 2, -1, -1):
        total = op.Add(op.Mul(total, square), 1 / (2 * k + 1))
    return op.Mul(op.Mul(t, total), float(2 ** (_ROOTS + 1)))


def abs_(op: Ops, node: ir.Node) -> ir.Value:
    """max(x, −x)"""
    return op.Max(node.inputs[0], op.Mul(node.inputs[0], -1.0))


def _as_picture(op: Ops, x: ir.Value) -> ir.Value:
    """One image as 1×1×1×pixels: poolings take four dimensions."""
    return op.Reshape(x, [1, 1, 1, -1])


RULES: Mapping[str, Sequence[Rewrite]] = {
    "Abs": (abs_,),
    "Erf": (erf,),
    "Gather": (gather,),
    "HardSigmoid": (hard_sigmoid,),
    "InstanceNormalization": (instance_normalization,),
    "Log": (log,),
    "ReduceMin": (reduce_min_by_max, reduce_min_by_pool),
    "Split": (split,),
    "ThresholdedRelu": (thresholded_relu,),
}
"""The rules for an operator; the first whose operators the target supports is used."""
