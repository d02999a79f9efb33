"""Combination: the weighted mean of the normalised maps, each upsampled to the input's size.

Bilinear upsampling is R·M·C with two small matrices, so the weighted mean is Σ R·(M·weight·C). The products
in brackets are stacked and multiplied once with the stacked R. An output row reads only two rows of each map,
so this last product is computed in bands of output rows, each with only the stacked rows that it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ..authoring.ops import Ops, Step, last_first, make_function
from .bands import Bands
from .bilinear import FreeSize, free_matrices, hat, is_static, map_positions

_DOC = "Weighted mean of the maps, each interpolated bilinearly to one size."


def combine(*, opset: int, sizes: Sequence[FreeSize], size: FreeSize, weights: Sequence[float]) -> Step:
    """The step from K maps, float32 [N,h,w] each, to Σ weight·map / Σ weight at one size, [N,H,W].

    If any size is free (None), the step has one more data input after the maps, `size`: int64 [2], H and W.
    The function for fixed sizes depends on them, so a model can hold only one.
    """
    share = np.asarray(weights, np.float64) / np.sum(weights)
    maps = [f"M{k}" for k in range(1, len(sizes) + 1)]
    constants: dict[str, np.ndarray] = {"weights": share.astype(np.float32)}
    if not is_static(size, *sizes):
        inputs = [*maps, "size", *constants]
        function = make_function("CombineScalesDynamic", opset, inputs, _free_body, output="C", doc=_DOC)
        return Step(function, constants)
    constants |= map_positions(sizes, size)
    bands = Bands.of(constants["lengths"][:, 0].tolist(), constants["rows"].shape[2])
    constants["rows"] = bands.rows
    widths = constants["lengths"][:, 1].tolist()

    def body(op: Ops, *inputs: ir.Value) -> ir.Value:
        *values, weight, _, rows, columns = inputs
        matrices = _column_matrices(op, widths, weight, columns)
        return bands.product(op, rows, _stack(op, values, matrices))

    function = make_function("CombineScales", opset, [*maps, *constants], body, output="C", doc=_DOC)
    return Step(function, constants)


def _column_matrices(
    op: Ops, widths: Sequence[int], weights: ir.Value, columns: ir.Value
) -> Sequence[ir.Value]:
    """weight·C of every map, [w,W], from their positions [K,2,W]; in few nodes, as every load runs them."""
    scale = np.repeat(np.arange(len(widths)), widths)
    column = np.concatenate([np.arange(width, dtype=np.float32) for width in widths])
    stacked = hat(op, op.Gather(columns, scale), column[:, None, None], axis=1)
    weighted = op.Mul(op.Squeeze(stacked, [1]), op.Unsqueeze(op.Gather(weights, scale), [1]))
    return op.split(weighted, widths, axis=0)


def _free_body(op: Ops, *inputs: ir.Value) -> ir.Value:
    *maps, size, weights = inputs
    rows, columns = zip(*[free_matrices(op, m, size) for m in maps], strict=True)
    weighted = [op.Mul(c, op.Gather(weights, k)) for k, c in enumerate(columns)]
    stacked_rows = op.Transpose(op.Concat(*rows, axis=0), perm=[1, 0])
    return op.MatMul(stacked_rows, _stack(op, maps, weighted))


def _stack(op: Ops, maps: Sequence[ir.Value], matrices: Sequence[ir.Value]) -> ir.Value:
    """M·C of all maps, stacked: [N,Σh,W]."""
    return op.Concat(*last_first(lambda k, m: op.MatMul(m, matrices[k]), maps), axis=1)
