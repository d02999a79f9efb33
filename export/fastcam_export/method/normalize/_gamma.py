"""Gamma: the CDF of a gamma distribution fitted to the map.

The shape k is fitted in closed form. The CDF is Wilson and Hilferty's cube-root approximation by a normal
distribution, which is monotone and needs no series.
"""

from __future__ import annotations

import math

import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function

OFFSET = 2e-7
"""Added to map − min, to keep the logarithm finite. The paper's code adds 1e-7 twice."""

FLOOR = 1e-3
"""Lower bound of ln mean − mean ln, for constant maps, whose k would be infinite. It limits k to 500."""


def gamma(*, opset: int, height: int | None, width: int | None) -> Step:
    """Φ(3√k·((x/mean x)^⅓ − 1 + 1/9k)) with x = map − min + OFFSET; independent of the map's size."""
    doc = "Gamma distribution function fitted to S − min, per image, in Wilson–Hilferty's normal form."
    return Step(make_function("GammaNormalize", opset, ["S"], _body, output="M", doc=doc))


def _body(op: Ops, s: ir.Value) -> ir.Value:
    above = op.Sub(s, op.reduce("ReduceMin", s, [1, 2]))
    # mean + OFFSET, not the mean of x: that sum would round most of a map far below OFFSET away.
    ratio = op.Div(op.Add(above, OFFSET), op.Add(_mean(op, above), OFFSET))
    # ln mean − mean ln, computed as mean(r − 1 − ln r) with r = x/mean. The mean of r − 1 is 0; including it
    # cancels the rounding error of the mean.
    spread = op.Max(_mean(op, op.Sub(op.Sub(ratio, 1.0), op.Log(ratio))), FLOOR)
    past = op.Sub(spread, 3.0)
    root = op.Sqrt(op.Add(op.Mul(past, past), op.Mul(spread, 24.0)))
    k = op.Div(op.Sub(root, past), op.Mul(spread, 12.0))
    centre = op.Sub(1.0, op.Div(1 / 9, k))
    z = op.Mul(op.Sub(op.Pow(ratio, 1 / 3), centre), op.Mul(op.Sqrt(k), 3 / math.sqrt(2)))
    return op.Add(op.Mul(op.Erf(z), 0.5), 0.5)


def _mean(op: Ops, x: ir.Value) -> ir.Value:
    """The mean over the pixels, row by row: one long float32 sum would add rounding error."""
    return op.reduce("ReduceMean", op.reduce("ReduceMean", x, [2]), [1])
