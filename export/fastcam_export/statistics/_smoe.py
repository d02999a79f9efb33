"""SMOE Scale: how far a pixel's channels are from all being equal, in units of their mean.

With y = max(x, 0) + ε and m = mean y the map is m·(log2 m − mean log2 y): 0 where all channels agree,
large where a few of them carry the pixel.
"""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from ..authoring import Ops, Step, make_function

GROUP = 4
"""Channels multiplied before one logarithm: y⁴ stays inside float32 from ε = 1e-6 up to 4e9."""

FLOOR = 2e-6
"""log2 m − mean log2 y below this is float32 noise around 0, and becomes exactly 0."""


def smoe(
    *, opset: int, channels: int, height: int | None, width: int | None, nonnegative: bool, epsilon: float
) -> Step:
    """SMOE Scale with one logarithm per four channels where their number allows it."""
    group = GROUP if channels % GROUP == 0 else 1
    name = "SmoeScale" + ("" if group == GROUP else "Ungrouped") + ("" if nonnegative else "Relu")
    # Sums of sums: one long sum of equal channels would drift by several units in the last place.
    part = next(p for p in (16, 8, 4, 2, 1) if channels % p == 0)
    # The mean over all channels of −log2, from natural logarithms of (the root of) group products.
    log_share = -(1 if group == 1 else 2) / channels / math.log(2)
    constants: dict[str, np.ndarray] = {
        "part_shape": np.array([0, part, channels // part, -1], np.int64),
        "part_mean": np.full((1, channels // part), part / channels, np.float32),
        "mean": np.full((1, part), 1 / part, np.float32),
        "log_mean": np.full((1, channels // group), log_share, np.float32),
    }
    if height is None or width is None:
        name += "Dynamic"
    else:
        constants["shape"] = np.array([0, height, width], np.int64)

    def body(
        op: Ops,
        x: ir.Value,
        part_shape: ir.Value,
        part_mean: ir.Value,
        mean: ir.Value,
        log_mean: ir.Value,
        *shape: ir.Value,
    ) -> ir.Value:
        flat = op.Reshape(x if nonnegative else op.Relu(x), [0, 0, -1])
        epsilon = op.attribute("epsilon")
        part_means = op.Squeeze(op.MatMul(part_mean, op.Reshape(flat, part_shape)), [2])
        m = op.Add(op.MatMul(mean, part_means), epsilon)
        y = op.Add(flat, epsilon)
        if group == 1:
            ratio = op.Div(y, m)
        else:
            a, b, c, d = op.split(y, GROUP, axis=1)
            # The root of the product has room for being divided by m², the product itself has not.
            ratio = op.Div(op.Sqrt(op.Mul(op.Mul(a, b), op.Mul(c, d))), op.Mul(m, m))
        log = op.ThresholdedRelu(op.MatMul(log_mean, op.Log(ratio)), alpha=FLOOR)
        return op.Reshape(op.Mul(m, log), shape[0] if shape else op.Gather(op.Shape(x), [0, 2, 3]))

    doc = "SMOE Scale of the channels: m·(log2 m − mean log2 y), y = max(x, 0) + epsilon, m = mean y."
    function = make_function(
        name, opset, ["X", *constants], body, output="S", attributes=["epsilon"], doc=doc
    )
    return Step(function, constants, {"epsilon": epsilon})
