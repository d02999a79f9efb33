"""Mean and entropy of the log-normal distribution fitted to a pixel's channels."""

from __future__ import annotations

import math

import onnx_ir as ir

from ...authoring.ops import Ops, Step
from ._moments import mean_and_variance, rectified_step

LARGEST_EXPONENT = 38.0
"""Above e^38 the variance of the map would overflow float32, so the map is scaled down."""

LEAST_VARIANCE = 1e-10
"""Smallest variance of ln y: below it is rounding error, and the entropy of equal channels would be −∞."""


def lognormal_mean(*, opset: int, nonnegative: bool, epsilon: float, **_: object) -> Step:
    """exp(μ + v/2), with μ and v the mean and variance of ln y.

    If this would overflow at any pixel, the image's whole map is divided by one constant: the normalisations
    that follow are invariant to it.
    """

    def body(op: Ops, y: ir.Value) -> ir.Value:
        mu, variance = mean_and_variance(op, op.Log(y))
        exponent = op.Squeeze(op.Add(mu, op.Mul(variance, 0.5)), [1])
        excess = op.Relu(op.Sub(op.reduce("ReduceMax", exponent, [1, 2]), LARGEST_EXPONENT))
        return op.Exp(op.Sub(exponent, excess))

    doc = "exp(μ + v/2), μ and v the mean and variance over the channels of ln y."
    return rectified_step("LogNormalMean", opset, nonnegative, body, doc, epsilon)


def lognormal_entropy(*, opset: int, nonnegative: bool, epsilon: float, **_: object) -> Step:
    """μ + ½·ln(2πe·v) in nats, with v at least `LEAST_VARIANCE`."""

    def body(op: Ops, y: ir.Value) -> ir.Value:
        mu, variance = mean_and_variance(op, op.Log(y))
        log = op.Log(op.Mul(op.Max(variance, LEAST_VARIANCE), 2 * math.pi * math.e))
        return op.Squeeze(op.Add(mu, op.Mul(log, 0.5)), [1])

    doc = "μ + ½·ln(2πe·v) nats, μ and v the mean and variance over the channels of ln y."
    return rectified_step("LogNormalEntropy", opset, nonnegative, body, doc, epsilon)
