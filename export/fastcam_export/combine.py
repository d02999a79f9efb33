"""Combination: the normalised maps, each upsampled to the input's size, in their weighted mean.

Bilinear upsampling is R·M·C with two small matrices. The products M·C of all scales, stacked, need only one
product with the stacked weight·R: the sum over the scales is the sum that a matrix product is made of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from .authoring import Ops, Step, make_function
from .bilinear import Size, free_matrices, is_static, map_positions, matrices


def combine(*, opset: int, sizes: Sequence[Size], size: Size, weights: Sequence[float]) -> Step:
    """The step from K maps, float32 [N,h,w] each, to Σ weight·map / Σ weight at one size, [N,H,W].

    With any size free the step has one more data input after the maps, `size`: int64 [2], H and W.

    Args:
        opset: Opset of the model, 13 or newer.
        sizes: Height and width of each map, None where free.
        size: H and W, None where free.
        weights: One per map, not all 0.
    """
    share = np.asarray(weights, np.float64) / np.sum(weights)
    maps = [f"M{k}" for k in range(1, len(sizes) + 1)]
    constants = {"weights": share.astype(np.float32)}
    doc = "Weighted mean of the maps, each interpolated bilinearly to one size."
    if not is_static(size, *sizes):
        inputs = [*maps, "size", *constants]
        function = make_function("CombineScalesDynamic", opset, inputs, _free_body, output="C", doc=doc)
        return Step(function, constants)
    constants |= map_positions(sizes, size)
    function = make_function("CombineScales", opset, [*maps, *constants], _body, output="C", doc=doc)
    return Step(function, constants)


def _body(op: Ops, *inputs: ir.Value) -> ir.Value:
    *maps, weights, lengths, rows, columns = inputs
    both = [matrices(op, k, lengths, rows, columns) for k in range(len(maps))]
    return _weighted_sum(op, maps, weights, both)


def _free_body(op: Ops, *inputs: ir.Value) -> ir.Value:
    *maps, size, weights = inputs
    return _weighted_sum(op, maps, weights, [free_matrices(op, m, size) for m in maps])


def _weighted_sum(
    op: Ops, maps: Sequence[ir.Value], weights: ir.Value, both: Sequence[tuple[ir.Value, ir.Value]]
) -> ir.Value:
    """Σ weightₖ·Rₖ·Mₖ·Cₖ as one product, [weight₁R₁ … weight_K·R_K] with the stacked Mₖ·Cₖ."""
    wide = op.Concat(*[op.MatMul(m, columns) for m, (_, columns) in zip(maps, both, strict=True)], axis=1)
    weighted = [op.Mul(rows, op.Gather(weights, k)) for k, (rows, _) in enumerate(both)]
    tall = op.Transpose(op.Concat(*weighted, axis=0), perm=[1, 0])
    return op.MatMul(tall, wide)
