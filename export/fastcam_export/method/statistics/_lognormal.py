"""Mean and entropy of the log-normal distribution fitted to a pixel's channels."""

from __future__ import annotations

import math

import onnx_ir as ir

from ...authoring.ops import Ops, Step
from ._moments import mean_and_variance, rectified_step

LARGEST_EXPONENT = 38.0
"""A map's variance has no room for the square of more; a map that needs it is scaled down as a whole."""

LEAST_VARIANCE = 1e-10
"""Of ln y: below is rounding, and the entropy of equal channels would be −∞."""


def lognormal_mean(*, opset: int, nonnegative: bool, epsilon: float, **_: object) -> Step:
    """exp(μ + v/2), μ and v of ln y.

    Where that leaves float32 anywhere in an image, the image's whole map is divided by one constant: the
    normalisations that follow do not depend on it.
    """

    def body(op: Ops, y: ir.Value) -> ir.Value:
        mu, variance = mean_and_variance(op, op.Log(y))
        exponent = op.Squeeze(op.Add(mu, op.Mul(variance, 0.5)), [1])
        excess = op.Relu(op.Sub(op.reduce("ReduceMax", exponent, [1, 2]), LARGEST_EXPONENT))
        result: ir.Value = op.Exp(op.Sub(exponent, excess))
        return result

    doc = "exp(μ + v/2), μ and v the mean and variance over the channels of ln y."
    return rectified_step("LogNormalMean", opset, nonnegative, body, doc, epsilon)


def lognormal_entropy(*, opset: int, nonnegative: bool, epsilon: float, **_: object) -> Step:
    """μ + ½·ln(2πe·v) in nats, v at least `LEAST_VARIANCE`."""

    def body(op: Ops, y: ir.Value) -> ir.Value:
        mu, variance = mean_and_variance(op, op.Log(y))
        log = op.Log(op.Mul(op.Max(variance, LEAST_VARIANCE), 2 * math.pi * math.e))
        result: ir.Value = op.Squeeze(op.Add(mu, op.Mul(log, 0.5)), [1])
        return result

    doc = "μ + ½·ln(2πe·v) nats, μ and v the mean and variance over the channels of ln y."
    return rectified_step("LogNormalEntropy", opset, nonnegative, body, doc, epsilon)
