"""Mean, deviation and entropy of a normal distribution cut off below 0, fitted to a pixel's channels.

With the pixel's mean m and standard deviation s, a = −m/s, and λ = φ(a)/Φ(−a): mean m + sλ, variance
s²(1 + aλ − λ²), entropy ln(√(2πe)·s·Φ(−a)) + aλ/2. If m is far below 0, these forms suffer from cancellation
or 0/0. There λ = a + r with the continued fraction r = 1/(a + 2/(a + 3/(a + …))), and with
q = 2/(a + 3/(a + …)) they become s·r, s²·r·(q − r) and ½ + ln(s/λ) + ar/2, without cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function
from ._moments import mean_and_variance

TAIL = 2.0
"""The continued fraction is used above this a; below it, erf is precise enough."""

TERMS = 30
"""Terms of the continued fraction: its error is 4e-8 at `TAIL`, and smaller beyond."""

LEAST_STD = 1e-6
"""Lower bound of the standard deviation, which is 0 for equal channels."""


@dataclass(frozen=True)
class Truncated:
    """The terms of both formulas: `near` for a up to `TAIL`, and `far` beyond."""

    m: ir.Value
    s: ir.Value
    in_tail: ir.Value
    near: ir.Value
    """a, at most `TAIL`."""
    near_lambda: ir.Value
    near_share: ir.Value
    """Φ(−a): the share of the distribution above 0."""
    far: ir.Value
    """a, at least `TAIL`."""
    r: ir.Value
    q: ir.Value


def truncate(op: Ops, x: ir.Value) -> Truncated:
    """The terms of mean, deviation and entropy, each [N,1,H,W]."""
    m, variance = mean_and_variance(op, x)
    s = op.Max(op.Sqrt(variance), LEAST_STD)
    a = op.Neg(op.Div(m, s))
    near, far = op.Min(a, TAIL), op.Max(a, TAIL)
    share = op.Mul(op.Sub(1.0, op.Erf(op.Mul(near, math.sqrt(0.5)))), 0.5)
    density = op.Mul(op.Exp(op.Mul(op.Mul(near, near), -0.5)), 1 / math.sqrt(2 * math.pi))
    fraction = far
    for k in range(TERMS, 2, -1):
        fraction = op.Add(far, op.Div(float(k), fraction))
    q = op.Div(2.0, fraction)
    r = op.Div(1.0, op.Add(far, q))
    return Truncated(m, s, op.Greater(a, TAIL), near, op.Div(density, share), share, far, r, q)


def truncnormal_mean(*, opset: int, **_: object) -> Step:
    """m + sλ."""

    def body(op: Ops, t: Truncated) -> ir.Value:
        near = op.Add(t.m, op.Mul(t.s, t.near_lambda))
        return op.Where(t.in_tail, op.Mul(t.s, t.r), near)

    return _step(
        "TruncatedNormalMean", opset, body, "Mean of the channels' normal distribution, cut off below 0."
    )


def truncnormal_std(*, opset: int, **_: object) -> Step:
    """s·√(1 + aλ − λ²)."""

    def body(op: Ops, t: Truncated) -> ir.Value:
        near = op.Sub(1.0, op.Mul(t.near_lambda, op.Sub(t.near_lambda, t.near)))
        tail = op.Mul(t.r, op.Sub(t.q, t.r))
        return op.Mul(t.s, op.Sqrt(op.Relu(op.Where(t.in_tail, tail, near))))

    doc = "Standard deviation of the channels' normal distribution, cut off below 0."
    return _step("TruncatedNormalStd", opset, body, doc)


def truncnormal_entropy(*, opset: int, **_: object) -> Step:
    """ln(√(2πe)·s·Φ(−a)) + aλ/2 in nats."""

    def body(op: Ops, t: Truncated) -> ir.Value:
        scale = math.sqrt(2 * math.pi * math.e)
        near = op.Add(
            op.Log(op.Mul(op.Mul(t.s, t.near_share), scale)), op.Mul(op.Mul(t.near, t.near_lambda), 0.5)
        )
        tail = op.Add(op.Add(op.Log(op.Div(t.s, op.Add(t.far, t.r))), 0.5), op.Mul(op.Mul(t.far, t.r), 0.5))
        return op.Where(t.in_tail, tail, near)

    doc = "Entropy in nats of the channels' normal distribution, cut off below 0."
    return _step("TruncatedNormalEntropy", opset, body, doc)


def _step(name: str, opset: int, body: Callable[[Ops, Truncated], ir.Value], doc: str) -> Step:
    def whole(op: Ops, x: ir.Value) -> ir.Value:
        return op.Squeeze(body(op, truncate(op, x)), [1])

    return Step(make_function(name, opset, ["X"], whole, output="S", doc=doc))
