"""Gauss: the normal distribution function of the map's own mean and standard deviation."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from ..authoring import Ops, Step, make_function
from ._range import stretch

EPSILON = 1e-20
"""Keeps a constant map's 0/0 at 0. The variance of a stretched map of n pixels is at least 1/2n."""


def gauss(*, opset: int, height: int | None, width: int | None) -> Step:
    """½(1 + erf((s − μ)/(σ√2))) with the unbiased σ; 0.5 everywhere for a constant map.

    InstanceNormalization subtracts the mean and divides by the population σ in two passes of one node.
    The map is stretched to 0…1 before, which changes nothing but makes its epsilon independent of scale.
    """
    if height is not None and width is not None:
        n = height * width
        constants: dict[str, np.ndarray] = {
            "scale": np.array([math.sqrt((n - 1) / n / 2)], np.float32),
            "shape": np.array([0, height, width], np.int64),
        }
        function = make_function("GaussNormalize", opset, ["S", *constants], _body, output="M", doc=_DOC)
        return Step(function, constants)
    function = make_function("GaussNormalizeDynamic", opset, ["S"], _dynamic_body, output="M", doc=_DOC)
    return Step(function)


_DOC = "½(1 + erf((S − mean)/(std·√2))), per image, std unbiased; 0.5 for a constant map."


def _body(op: Ops, s: ir.Value, scale: ir.Value, shape: ir.Value) -> ir.Value:
    flat = op.Reshape(stretch(op, s), [0, 1, -1])
    z = op.InstanceNormalization(flat, scale, [0.0], epsilon=EPSILON)
    return op.Reshape(op.Add(op.Mul(op.Erf(z), 0.5), 0.5), shape)


def _dynamic_body(op: Ops, s: ir.Value) -> ir.Value:
    shape = op.Shape(s)
    n = op.Cast(op.reduce("ReduceProd", op.Slice(shape, [1], [3]), [0]), to=ir.DataType.FLOAT)
    scale = op.Sqrt(op.Sub(0.5, op.Div(0.5, n)))
    return _body(op, s, scale, shape)
