"""SMOE Scale for runtimes that compute a chain of elementwise operators in one pass, such as OpenVINO.

The same products, roots and logarithm as in `_smoe`, arranged for such a runtime. ε is added to each part,
and the mean is taken of the sum of the parts: nothing but the first two chains reads X. One Reshape serves
them, because each makes OpenVINO convert X to planes, and that takes longer than everything else here.
"""

from __future__ import annotations

import functools

import numpy as np
import onnx_ir as ir

from ...authoring.ops import Ops, Step
from ._smoe import (
    FLOOR,
    LONG,
    choose,
    ending_constants,
    equal,
    mean_over,
    power_of_mean,
    root_of,
    smoe_step,
)


def smoe_fused(
    *,
    opset: int,
    channels: int,
    height: int | None,
    width: int | None,
    epsilon: float,
    nonnegative: bool,
    bound: float | None = None,
    quantized: bool = False,
) -> Step:
    """SMOE Scale, with the arguments, values and precision of `smoe`."""
    pixels = None if height is None or width is None else height * width
    scheme = choose(channels, pixels, epsilon, bound, fused=True)
    in_part = channels // scheme.parts
    long_mean, constants = mean_over(in_part)
    if in_part <= LONG:
        constants = {"shares": np.full((1, in_part), 1 / channels, np.float32)}
    constants |= ending_constants(scheme, height, width)

    data = ["X", "scale", "zero_point"] if quantized else ["X"]

    def body(op: Ops, x: ir.Value, *inputs: ir.Value) -> ir.Value:
        given = dict(zip([*data[1:], *constants], inputs, strict=True))
        if quantized:
            x = op.DequantizeLinear(x, given["scale"], given["zero_point"])
        y = x if nonnegative else op.Relu(x)
        planes = op.Reshape(y, [0, 0, -1])
        parts = op.split(planes, equal(channels, scheme.parts), axis=1)
        total: ir.Value = functools.reduce(op.Add, parts)
        m = (
            op.MatMul(given["shares"], total)
            if in_part <= LONG
            else op.Mul(long_mean(op, total, given), 1 / scheme.parts)
        )
        epsilon = op.attribute("epsilon")
        m = op.Add(m, epsilon)
        root = root_of(op, [op.Add(part, epsilon) for part in parts], scheme)
        logs = op.Log(op.Div(root, power_of_mean(op, m, scheme)))
        weighted = op.MatMul if scheme.rows > 1 else op.Mul
        d = op.ThresholdedRelu(weighted(given["log_mean"], logs), alpha=FLOOR)
        return op.Reshape(op.Mul(m, d), given.get("shape") or op.Gather(op.Shape(x), [0, 2, 3]))

    return smoe_step(opset, data, constants, body, nonnegative=nonnegative, epsilon=epsilon)
