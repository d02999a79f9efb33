"""Bilinear interpolation as matrix products: half-pixel centres, edges replicated, no antialiasing.

Output pixel x reads its map at p = (x + ½)·length/size − ½, clamped to the map, and blends the two pixels
around p. So one axis is a product with the matrix max(0, 1 − |p − j|), two nonzero values per output pixel.
The files hold only p, as integer part and fraction; onnxruntime computes the matrices once, at load.
If a size is free, the same matrices are computed in every run, with p in integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ..authoring.ops import Ops, Step, last_first, make_function

FreeSize = tuple[int | None, int | None]
"""Height and width, None where they are free."""


def is_static(*sizes: FreeSize) -> bool:
    """Whether all heights and widths are known."""
    return all(length is not None for size in sizes for length in size)


def positions(length: int, size: int) -> np.ndarray:
    """The source positions p of `size` output pixels: integer part and fraction, float32 [2,size]."""
    numerator, denominator = _fractions(length, size)
    whole, rest = np.divmod(numerator, denominator)
    return np.stack([whole, rest / denominator]).astype(np.float32)


def _fractions(length: int, size: int) -> tuple[np.ndarray, int]:
    """The positions p of the output pixels as integers: numerators and their common denominator."""
    return np.clip((2 * np.arange(size) + 1) * length - size, 0, 2 * size * (length - 1)), 2 * size


def free_positions(op: Ops, length: ir.Value, size: ir.Value) -> ir.Value:
    """`positions` computed in the graph from two int64 scalars."""
    whole = op.Mul(size, 2)
    centre = op.Add(op.Mul(op.Range(0, size, 1), 2), 1)
    numerator = op.Max(op.Sub(op.Mul(centre, length), size), 0)
    numerator = op.Min(numerator, op.Mul(op.Sub(length, 1), whole))
    floor = op.Div(numerator, whole)
    rest = op.Sub(numerator, op.Mul(floor, whole))
    fraction = op.Div(op.Cast(rest, to=ir.DataType.FLOAT), op.Cast(whole, to=ir.DataType.FLOAT))
    return op.Concat(
        op.Unsqueeze(op.Cast(floor, to=ir.DataType.FLOAT), [0]), op.Unsqueeze(fraction, [0]), axis=0
    )


def hat(op: Ops, position: ir.Value, j: ir.Value | np.ndarray, axis: int) -> ir.Value:
    """max(0, 1 − |p − j|), with p as integer part and fraction along `axis`."""
    floor, fraction = op.split(position, [1, 1], axis=axis)
    # floor − j is exact, so the fraction keeps its precision on large maps too.
    return op.Relu(op.Sub(1.0, op.Abs(op.Add(op.Sub(floor, j), fraction))))


def matrix(op: Ops, position: ir.Value, length: ir.Value) -> ir.Value:
    """The interpolation matrix, float32 [length,size], from `positions` and the int64 scalar `length`."""
    j = op.Cast(op.Range(0, length, 1), to=ir.DataType.FLOAT)
    return hat(op, position, op.Unsqueeze(j, [1]), axis=0)


def dense_matrix(length: int, size: int) -> np.ndarray:
    """The interpolation matrix in NumPy: float64 [length,size]."""
    numerator, denominator = _fractions(length, size)
    distance = np.abs(numerator / denominator - np.arange(length)[:, None])
    weights: np.ndarray = np.maximum(0, 1 - distance)
    return weights


def map_positions(sizes: Sequence[FreeSize], size: FreeSize) -> dict[str, np.ndarray]:
    """Constants to interpolate K maps to one size: `lengths` [K,2], `rows` [K,2,H], `columns` [K,2,W]."""

    def axis(lengths: Sequence[int | None], target: int | None) -> np.ndarray:
        assert target is not None
        return np.stack([positions(length, target) for length in lengths if length is not None])

    rows, columns = axis([h for h, _ in sizes], size[0]), axis([w for _, w in sizes], size[1])
    return {"lengths": np.array(sizes, np.int64), "rows": rows, "columns": columns}


def matrices(
    op: Ops, k: int, lengths: ir.Value, rows: ir.Value, columns: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """R [h,H] and C [w,W] of map `k`, from the constants of `map_positions`."""
    length = op.Gather(lengths, k)
    height, width = op.Gather(length, 0), op.Gather(length, 1)
    return matrix(op, op.Gather(rows, k), height), matrix(op, op.Gather(columns, k), width)


def free_matrices(op: Ops, m: ir.Value, size: ir.Value) -> tuple[ir.Value, ir.Value]:
    """R [h,H] and C [w,W] of a map [N,h,w] whose size is free, for `size`, int64 [2]."""
    shape = op.Shape(m)
    both = []
    for axis in (0, 1):
        length = op.Gather(shape, axis + 1)
        both.append(matrix(op, free_positions(op, length, op.Gather(size, axis)), length))
    return both[0], both[1]


def interpolate(op: Ops, maps: Sequence[ir.Value], *constants: ir.Value) -> list[ir.Value]:
    """Interpolate each map to the size in the constants of `map_positions`."""
    return last_first(lambda k, m: _product(op, m, *matrices(op, k, *constants)), maps)


def interpolate_free(op: Ops, m: ir.Value, size: ir.Value) -> ir.Value:
    """Interpolate the map to `size`, int64 [2]."""
    return _product(op, m, *free_matrices(op, m, size))


def _product(op: Ops, m: ir.Value, rows: ir.Value, columns: ir.Value) -> ir.Value:
    return op.MatMul(op.Transpose(rows, perm=[1, 0]), op.MatMul(m, columns))


def upsample(*, opset: int, size_from: FreeSize, size_to: FreeSize) -> Step:
    """The step from a map M, float32 [N,h,w], to the same map at another size, [N,H,W].

    If any size is free, the step has a second data input, `size`: int64 [2], H and W.
    """
    doc = "Bilinear interpolation, half-pixel centres, edges replicated."
    if not is_static(size_from, size_to):
        return Step(
            make_function("UpsampleDynamic", opset, ["M", "size"], interpolate_free, output="U", doc=doc)
        )
    constants = map_positions([size_from], size_to)

    def body(op: Ops, m: ir.Value, *rest: ir.Value) -> ir.Value:
        return interpolate(op, [m], *rest)[0]

    return Step(make_function("Upsample", opset, ["M", *constants], body, output="U", doc=doc), constants)
