"""Rules of the normalisations over the elements of one image."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ..site import Site
from .registry import rule


@rule("LayerNormalization")
def layer_normalization(at: Site) -> ir.Value:
    first = at.node.attributes.get_int("axis", -1) % at.rank()
    g = at.op.Mul(at.g, at.input(1))
    return _standardised(at, at.x, g, list(range(first, at.rank())))


@rule("InstanceNormalization")
def instance_normalization(at: Site) -> ir.Value:
    scale = at.op.Reshape(at.input(1), [1, -1, *(1,) * (at.rank() - 2)])
    return _standardised(at, at.x, at.op.Mul(at.g, scale), list(range(2, at.rank())))


def _standardised(at: Site, x: ir.Value, g: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Through z = (x − mean)/√(variance + ε): (g − mean g − z·mean(g·z))/√(variance + ε)."""
    op = at.op
    centred = op.Sub(x, op.reduce("ReduceMean", x, axes))
    variance = op.reduce("ReduceMean", op.Mul(centred, centred), axes)
    deviation = op.Sqrt(op.Add(variance, at.node.attributes.get_float("epsilon", 1e-5)))
    z = op.Div(centred, deviation)
    along = op.Mul(z, op.reduce("ReduceMean", op.Mul(g, z), axes))
    rest = op.Sub(op.Sub(g, op.reduce("ReduceMean", g, axes)), along)
    return op.Div(rest, deviation)


@rule("LRN")
def local_response_normalization(at: Site) -> ir.Value:
    """y = x·D^−β, D = bias + α·mean x² over neighbouring channels: g·D^−β − 2αβ·x·mean(g·y/D)."""
    op, attributes = at.op, at.node.attributes
    alpha, beta = attributes.get_float("alpha", 1e-4), attributes.get_float("beta", 0.75)
    size = attributes.get_int("size")
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = _channel_mean(at, op.Mul(at.x, at.x), before, after)
    d = op.Add(op.Mul(squares, alpha), attributes.get_float("bias", 1.0))
    # The channels whose window holds this element: the window mirrored.
    seen = _channel_mean(at, op.Div(op.Mul(at.g, at.y), d), after, before)
    own = op.Mul(at.g, op.Pow(d, -beta))
    return op.Sub(own, op.Mul(op.Mul(at.x, 2 * alpha * beta), seen))


def _channel_mean(at: Site, value: ir.Value, before: int, after: int) -> ir.Value:
    """Mean over the channels from `before` in front to `after` behind, zeros beyond the ends."""
    op = at.op
    columns = op.Unsqueeze(op.Reshape(value, [0, 0, -1]), [1])
    mean = op.AveragePool(
        columns, kernel_shape=[before + after + 1, 1], pads=[before, 0, after, 0], count_include_pad=1
    )
    return at.reshape(mean)
