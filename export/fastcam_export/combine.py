"""Combination: the normalised maps, each upsampled to the input's size, in their weighted mean.

Bilinear upsampling is R·M·C with two small matrices. The products M·C of all scales, stacked, need only one
product with the stacked weight·R: the sum over the scales is the sum that a matrix product is made of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from .authoring import Ops, Step, make_function
from .bilinear import Size, free_positions, is_static, map_lengths, matrix, positions


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
    constants["lengths"] = np.array(sizes, np.int64)
    constants["rows"] = _all_positions([h for h, _ in sizes], size[0])
    constants["columns"] = _all_positions([w for _, w in sizes], size[1])
    function = make_function("CombineScales", opset, [*maps, *constants], _body, output="C", doc=doc)
    return Step(function, constants)


def _all_positions(lengths: Sequence[int | None], size: int | None) -> np.ndarray:
    """`positions` of all scales, float32 [K,2,size]."""
    assert size is not None
    return np.stack([positions(length, size) for length in lengths if length is not None])


def _body(op: Ops, *inputs: ir.Value) -> ir.Value:
    *maps, weights, lengths, rows, columns = inputs
    row_matrices, column_matrices = [], []
    for k in range(len(maps)):
        length = op.Gather(lengths, k)
        row_matrices.append(matrix(op, op.Gather(rows, k), op.Gather(length, 0)))
        column_matrices.append(matrix(op, op.Gather(columns, k), op.Gather(length, 1)))
    return _weighted_sum(op, maps, weights, row_matrices, column_matrices)


def _free_body(op: Ops, *inputs: ir.Value) -> ir.Value:
    *maps, size, weights = inputs
    row_matrices, column_matrices = [], []
    for m in maps:
        height, width = map_lengths(op, m)
        rows = free_positions(op, height, op.Gather(size, 0))
        columns = free_positions(op, width, op.Gather(size, 1))
        row_matrices.append(matrix(op, rows, height))
        column_matrices.append(matrix(op, columns, width))
    return _weighted_sum(op, maps, weights, row_matrices, column_matrices)


def _weighted_sum(
    op: Ops,
    maps: Sequence[ir.Value],
    weights: ir.Value,
    rows: Sequence[ir.Value],
    columns: Sequence[ir.Value],
) -> ir.Value:
    """Σ weightₖ·Rₖ·Mₖ·Cₖ as one product, [weight₁R₁ … weight_K·R_K] with the stacked Mₖ·Cₖ."""
    wide = op.Concat(*[op.MatMul(m, c) for m, c in zip(maps, columns, strict=True)], axis=1)
    weighted = [op.Mul(r, op.Gather(weights, k)) for k, r in enumerate(rows)]
    tall = op.Transpose(op.Concat(*weighted, axis=0), perm=[1, 0])
    return op.MatMul(tall, wide)
