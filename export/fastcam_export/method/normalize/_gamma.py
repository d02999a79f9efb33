"""Gamma: the distribution function of a gamma distribution fitted to the map.

The fit is the closed form for the shape k; the distribution function is the cube-root normal form of
Wilson and Hilferty, which is monotone and needs no series.
"""

from __future__ import annotations

import math

import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function

OFFSET = 2e-7
"""Added to map − min, so that the minimum has a logarithm. The reference adds 1e-7 twice."""

FLOOR = 1e-3
"""Least ln mean − mean ln, reached by a constant map, whose k would be infinite. It caps k at 500."""


def gamma(*, opset: int, height: int | None, width: int | None) -> Step:
    """Φ(3√k·((x/mean x)^⅓ − 1 + 1/9k)) of x = map − min + OFFSET; it needs no size."""
    doc = "Gamma distribution function fitted to S − min, per image, in Wilson–Hilferty's normal form."
    return Step(make_function("GammaNormalize", opset, ["S"], _body, output="M", doc=doc))


def _body(op: Ops, s: ir.Value) -> ir.Value:
    x = op.Add(op.Sub(s, op.reduce("ReduceMin", s, [1, 2])), OFFSET)
    ratio = op.Div(x, _mean(op, x))
    # ln mean − mean ln, as the mean of logarithms near 0
    spread = op.Max(op.Neg(_mean(op, op.Log(ratio))), FLOOR)
    past = op.Sub(spread, 3.0)
    root = op.Sqrt(op.Add(op.Mul(past, past), op.Mul(spread, 24.0)))
    k = op.Div(op.Sub(root, past), op.Mul(spread, 12.0))
    centre = op.Sub(1.0, op.Div(1 / 9, k))
    z = op.Mul(op.Sub(op.Pow(ratio, 1 / 3), centre), op.Mul(op.Sqrt(k), 3 / math.sqrt(2)))
    return op.Add(op.Mul(op.Erf(z), 0.5), 0.5)


def _mean(op: Ops, x: ir.Value) -> ir.Value:
    """The mean over the pixels by rows: one long float32 sum would drift."""
    return op.reduce("ReduceMean", op.reduce("ReduceMean", x, [2]), [1])
