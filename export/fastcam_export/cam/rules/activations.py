"""Rules of the elementwise functions."""

from __future__ import annotations

import math

import onnx_ir as ir

from ...analysis.operators import facts
from ...analysis.patterns import quantized_from_zero
from ..site import Site
from .registry import rule

SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


@rule("Identity", "Dropout", "Cast")
def unchanged(at: Site) -> ir.Value:
    return at.g


@rule("Relu")
def relu(at: Site) -> ir.Value:
    return _where(at, at.op.Greater(at.y, 0.0), at.g, 0.0)


@rule("LeakyRelu")
def leaky_relu(at: Site) -> ir.Value:
    alpha = at.node.attributes.get_float("alpha", 0.01)
    sign = at.y if alpha >= 0 else at.x
    return _where(at, at.op.Greater(sign, 0.0), at.g, at.op.Mul(at.g, alpha))


@rule("PRelu")
def prelu(at: Site) -> ir.Value:
    return _where(at, at.op.Greater(at.x, 0.0), at.g, at.op.Mul(at.g, at.input(1)))


@rule("ThresholdedRelu")
def thresholded_relu(at: Site) -> ir.Value:
    return _where(at, at.op.Greater(at.x, at.node.attributes.get_float("alpha", 1.0)), at.g, 0.0)


@rule("Clip")
def clip(at: Site) -> ir.Value:
    """The gradient is 0 at the limits themselves, as for ReLU6."""
    g = at.g
    low, high = at.input(1), at.input(2)
    if low is not None:
        g = _where(at, at.op.Greater(at.y, low), g, 0.0)
    if high is not None:
        g = _where(at, at.op.Less(at.y, high), g, 0.0)
    return g


@rule("HardSigmoid")
def hard_sigmoid(at: Site) -> ir.Value:
    inside = at.op.And(at.op.Greater(at.y, 0.0), at.op.Less(at.y, 1.0))
    return _where(at, inside, at.op.Mul(at.g, at.node.attributes.get_float("alpha", 0.2)), 0.0)


@rule("HardSwish")
def hard_swish(at: Site) -> ir.Value:
    """x·max(0, min(1, x/6 + ½)): slope 0 up to −3, x/3 + ½ between, 1 from 3."""
    op, x = at.op, at.x
    ramp = op.Add(op.Mul(x, 1 / 3), 0.5)
    slope = op.Where(op.Less(x, 3.0), op.Where(op.Greater(x, -3.0), ramp, 0.0), 1.0)
    return _times(at, slope)


@rule("Sigmoid")
def sigmoid(at: Site) -> ir.Value:
    return _times(at, at.op.Mul(at.y, at.op.Sub(1.0, at.y)))


@rule("Swish")
def swish(at: Site) -> ir.Value:
    """x·σ(αx): σ + αx·σ(1 − σ)."""
    op, alpha = at.op, at.node.attributes.get_float("alpha", 1.0)
    sigma = op.Sigmoid(op.Mul(at.x, alpha))
    bend = op.Mul(op.Mul(at.x, alpha), op.Sub(1.0, sigma))
    return _times(at, op.Mul(sigma, op.Add(bend, 1.0)))


@rule("Tanh")
def tanh(at: Site) -> ir.Value:
    return _times(at, at.op.Sub(1.0, at.op.Mul(at.y, at.y)))


@rule("Gelu")
def gelu(at: Site) -> ir.Value:
    """x·Φ(x): Φ + x·φ; or the derivative of the tanh approximation."""
    op, x = at.op, at.x
    if at.node.attributes.get_string("approximate", "none") == "tanh":
        k = math.sqrt(2 / math.pi)
        square = op.Mul(x, x)
        t = op.Tanh(op.Mul(op.Mul(x, k), op.Add(op.Mul(square, 0.044715), 1.0)))
        inner = op.Mul(op.Add(op.Mul(square, 3 * 0.044715), 1.0), k)
        bend = op.Mul(op.Mul(x, op.Sub(1.0, op.Mul(t, t))), inner)
        return _times(at, op.Mul(op.Add(op.Add(t, 1.0), bend), 0.5))
    phi = op.Mul(op.Exp(op.Mul(op.Mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    cumulative = op.Mul(op.Add(op.Erf(op.Mul(x, math.sqrt(0.5))), 1.0), 0.5)
    return _times(at, op.Add(cumulative, op.Mul(x, phi)))


@rule("Erf")
def erf(at: Site) -> ir.Value:
    square = at.op.Mul(at.x, at.x)
    return _times(at, at.op.Mul(at.op.Exp(at.op.Neg(square)), 2 / math.sqrt(math.pi)))


@rule("Elu")
def elu(at: Site) -> ir.Value:
    """x, or α(eˣ − 1) below 0: there the slope is y + α."""
    alpha = at.node.attributes.get_float("alpha", 1.0)
    return _where(at, at.op.Greater(at.x, 0.0), at.g, at.op.Mul(at.g, at.op.Add(at.y, alpha)))


@rule("Selu")
def selu(at: Site) -> ir.Value:
    alpha = at.node.attributes.get_float("alpha", SELU_ALPHA)
    gamma = at.node.attributes.get_float("gamma", SELU_GAMMA)
    below = at.op.Mul(at.g, at.op.Add(at.y, alpha * gamma))
    return _where(at, at.op.Greater(at.x, 0.0), at.op.Mul(at.g, gamma), below)


@rule("Celu")
def celu(at: Site) -> ir.Value:
    alpha = at.node.attributes.get_float("alpha", 1.0)
    below = at.op.Mul(at.g, at.op.Add(at.op.Mul(at.y, 1 / alpha), 1.0))
    return _where(at, at.op.Greater(at.x, 0.0), at.g, below)


@rule("Softplus")
def softplus(at: Site) -> ir.Value:
    return _times(at, at.op.Sigmoid(at.x))


@rule("Softsign")
def softsign(at: Site) -> ir.Value:
    width = at.op.Add(at.op.Abs(at.x), 1.0)
    return at.op.Div(at.op.Div(at.g, width), width)


@rule("Mish")
def mish(at: Site) -> ir.Value:
    """x·t with t = tanh(softplus x): t + x·σ(x)·(1 − t²)."""
    op, x = at.op, at.x
    t = op.Tanh(op.Softplus(x))
    return _times(at, op.Add(t, op.Mul(op.Mul(x, op.Sigmoid(x)), op.Sub(1.0, op.Mul(t, t)))))


@rule("Exp")
def exp(at: Site) -> ir.Value:
    return _times(at, at.y)


@rule("Log")
def log(at: Site) -> ir.Value:
    return at.op.Div(at.g, at.x)


@rule("Sqrt")
def sqrt(at: Site) -> ir.Value:
    return at.op.Div(at.op.Mul(at.g, 0.5), at.y)


@rule("Reciprocal")
def reciprocal(at: Site) -> ir.Value:
    return _times(at, at.op.Neg(at.op.Mul(at.y, at.y)))


@rule("Neg")
def neg(at: Site) -> ir.Value:
    return at.op.Neg(at.g)


@rule("Abs")
def absolute(at: Site) -> ir.Value:
    return _times(at, at.op.Sign(at.x))


@rule("QuantizeLinear")
def quantize(at: Site) -> ir.Value:
    """Straight through: the gradient of the tensor before rounding."""
    return at.g


@rule("DequantizeLinear")
def dequantize(at: Site) -> ir.Value:
    """Straight through, or as for a ReLU where the quantisation replaced one."""
    if not quantized_from_zero(at.node) or not _absorbed_activation(at.source):
        return at.g
    return _where(at, at.op.Greater(at.y, 0.0), at.g, 0.0)


def _absorbed_activation(quantized: ir.Value) -> bool:
    node = quantized.producer()
    while node is not None and node.op_type in ("Cast", "QuantizeLinear") and node.inputs[0] is not None:
        node = node.inputs[0].producer()
    return node is not None and facts(node.op_type).absorbs_relu


def _where(at: Site, condition: ir.Value, then: ir.Value, otherwise: ir.Value | float) -> ir.Value:
    return at.op.Where(condition, then, otherwise)


def _times(at: Site, slope: ir.Value) -> ir.Value:
    return at.op.Mul(at.g, slope)
