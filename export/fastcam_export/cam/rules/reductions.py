"""Rules of the reductions, Softmax among them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ...analysis.values import constant_behind
from ..site import Site
from .registry import rule


def spread_mean(at: Site, g: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The gradient of a mean over `axes`: every element gets an equal share of `g`, which keeps the axes."""
    op, number = at.op, 1
    for axis in axes:
        size = at.dims()[axis]
        if size is None:
            ratio = op.Div(op.Size(at.x), op.Size(g))
            return spread(at, op.Div(g, op.Cast(ratio, to=ir.DataType.FLOAT)))
        number *= size
    return spread(at, op.Mul(g, 1.0 / number))


def spread(at: Site, g: ir.Value) -> ir.Value:
    """`g`, with reduced axes kept as 1, repeated over the shape of `x`."""
    return at.op.Expand(g, at.shape())


@rule("ReduceMean")
def reduce_mean(at: Site) -> ir.Value:
    axes = _axes(at)
    return spread_mean(at, _kept(at, at.g, axes), axes)


@rule("ReduceSum")
def reduce_sum(at: Site) -> ir.Value:
    return spread(at, _kept(at, at.g, _axes(at)))


@rule("ReduceMax", "ReduceMin")
def reduce_extreme(at: Site) -> ir.Value:
    """The elements that equal the minimum or maximum share the cotangent."""
    op, axes = at.op, _axes(at)
    hits = op.Equal(at.x, _kept(at, at.y, axes))
    number = op.reduce("ReduceSum", op.Cast(hits, to=ir.DataType.FLOAT), axes)
    return op.Where(hits, op.Div(_kept(at, at.g, axes), number), 0.0)


@rule("ReduceL2")
def reduce_l2(at: Site) -> ir.Value:
    """√Σx²: g·x/y, and 0 where all of x is 0."""
    op, axes = at.op, _axes(at)
    length = op.Max(_kept(at, at.y, axes), 1e-30)
    return op.Mul(at.x, op.Div(_kept(at, at.g, axes), length))


@rule("ReduceLogSumExp")
def reduce_log_sum_exp(at: Site) -> ir.Value:
    """ln Σeˣ: g·eˣ⁻ʸ, the softmax of x."""
    op, axes = at.op, _axes(at)
    return op.Mul(_kept(at, at.g, axes), op.Exp(op.Sub(at.x, _kept(at, at.y, axes))))


@rule("Softmax")
def softmax(at: Site) -> ir.Value:
    """y·(g − Σ g·y)."""
    op, axis = at.op, at.node.attributes.get_int("axis", -1)
    weighted = op.reduce("ReduceSum", op.Mul(at.g, at.y), [axis])
    return op.Mul(at.y, op.Sub(at.g, weighted))


@rule("LogSoftmax")
def log_softmax(at: Site) -> ir.Value:
    """g − eʸ·Σ g."""
    op, axis = at.op, at.node.attributes.get_int("axis", -1)
    total = op.reduce("ReduceSum", at.g, [axis])
    return op.Sub(at.g, op.Mul(op.Exp(at.y), total))


def reduced_axes(node: ir.Node, rank: int) -> list[int]:
    """The axes that a Reduce… node reduces, counted from the front; empty if they are computed.

    They are an attribute in older opsets and an input in newer ones.
    """
    axes: Sequence[int] | None = node.attributes.get_ints("axes", None)
    if axes is None and len(node.inputs) > 1 and node.inputs[1] is not None:
        given = constant_behind(node.inputs[1])
        if given is None:
            return []
        axes = [int(axis) for axis in given.reshape(-1)]
    if not axes:
        return [] if node.attributes.get_int("noop_with_empty_axes", 0) == 1 else list(range(rank))
    return [axis % rank for axis in axes]


def _axes(at: Site) -> list[int]:
    axes = reduced_axes(at.node, at.rank())
    if not axes:
        raise at.refuse("the axes that it reduces are not constant")
    return axes


def _kept(at: Site, value: ir.Value, axes: Sequence[int]) -> ir.Value:
    """A reduced value with its reduced axes as 1, for either `keepdims`."""
    if at.node.attributes.get_int("keepdims", 1):
        return value
    return at.op.Unsqueeze(value, sorted(axes))
