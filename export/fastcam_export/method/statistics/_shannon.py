"""Shannon entropy of a pixel's channels, taken as a distribution."""

from __future__ import annotations

import math

import onnx_ir as ir

from ...authoring.ops import Ops, Step
from ._moments import rectified_step


def shannon(*, opset: int, nonnegative: bool, epsilon: float, **_: object) -> Step:
    """−Σ p·log2 p with p = y/Σy, y = max(x, 0) + ε, in bits: log2 C if all activations are 0."""

    def body(op: Ops, y: ir.Value) -> ir.Value:
        p = op.Div(y, op.reduce("ReduceSum", y, [1]))
        # A p that underflows to 0 must add 0, but 0·log 0 would be NaN.
        log = op.Log(op.Max(p, 1e-37))
        total = op.reduce("ReduceSum", op.Mul(p, log), [1], keepdims=False)
        return op.Mul(total, -1 / math.log(2))

    doc = "Shannon entropy in bits of the channels' shares y/Σy, y = max(x, 0) + epsilon."
    return rectified_step("ShannonEntropy", opset, nonnegative, body, doc, epsilon)
