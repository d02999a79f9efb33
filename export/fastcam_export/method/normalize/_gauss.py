"""Gauss: the CDF of the normal distribution with the map's own mean and standard deviation."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function

EPSILON = 1e-36
"""Added to the variance, so that a constant map gives 0 instead of 0/0. Contrast below 1e-17 is lost."""

_DOC = "½(1 + erf((S − mean)/(std·√2))), per image, std unbiased; 0.5 for a constant map."


def gauss(*, opset: int, height: int | None, width: int | None) -> Step:
    """½(1 + erf((s − μ)/(σ√2))) with the unbiased σ; exactly 0.5 everywhere for a constant map.

    InstanceNormalization is (s − μ)/σ in one node, with the population's σ. Subtracting the minimum first
    only improves the precision: it is exact for low contrast, and makes a constant map 0.
    """
    if height is None or width is None:
        function = make_function("GaussNormalizeDynamic", opset, ["S"], _free_body, output="M", doc=_DOC)
        return Step(function)
    pixels = height * width
    constants: dict[str, np.ndarray] = {
        "scale": np.array([math.sqrt((pixels - 1) / pixels / 2)], np.float32),
        "shape": np.array([0, height, width], np.int64),
    }
    function = make_function("GaussNormalize", opset, ["S", *constants], _body, output="M", doc=_DOC)
    return Step(function, constants)


def _body(op: Ops, s: ir.Value, scale: ir.Value, shape: ir.Value) -> ir.Value:
    above = op.Sub(s, op.reduce("ReduceMin", s, [1, 2]))
    z = op.InstanceNormalization(op.Reshape(above, [0, 1, -1]), scale, [0.0], epsilon=EPSILON)
    # HardSigmoid is ½x + ½ in one node, clamped to 0…1
    return op.Reshape(op.HardSigmoid(op.Erf(z), alpha=0.5, beta=0.5), shape)


def _free_body(op: Ops, s: ir.Value) -> ir.Value:
    shape = op.Shape(s)
    pixels = op.Cast(op.reduce("ReduceProd", op.Slice(shape, [1], [3]), [0]), to=ir.DataType.FLOAT)
    scale = op.Sqrt(op.Sub(0.5, op.Div(0.5, pixels)))
    return _body(op, s, scale, shape)
