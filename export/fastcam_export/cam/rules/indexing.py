"""Rules of the operators that pick elements by constant indices, such as uneven adaptive pooling."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..site import Site
from .registry import rule


@rule("Gather")
def gather(at: Site) -> ir.Value:
    op, index = at.op, at.constant(1)
    axis = at.node.attributes.get_int("axis", 0) % at.rank()
    size = at.dims()[axis]
    if index is None or size is None:
        raise at.refuse(f"the length of axis {axis} is free")
    before, after = op.Slice(at.shape(), [0], [axis]), op.Slice(at.shape(), [axis + 1], [at.rank()])
    picked = op.Reshape(at.g, op.Concat(before, [index.size], after, axis=0))
    return _put_back(at, picked, axis, index.reshape(-1) % size, size)


@rule("GatherND")
def gather_nd(at: Site) -> ir.Value:
    op, index = at.op, at.constant(1)
    if index is None or at.node.attributes.get_int("batch_dims", 0) != 0:
        raise at.refuse("its batch_dims is not 0")
    depth = index.shape[-1]
    sizes = [size for size in at.dims()[:depth] if size is not None]
    if len(sizes) < depth:
        raise at.refuse("it picks from a free dimension")
    flat = np.ravel_multi_index(tuple(np.moveaxis(index, -1, 0).reshape(depth, -1)), sizes, mode="wrap")
    picked = op.Reshape(at.g, op.Concat([flat.size], op.Slice(at.shape(), [depth], [at.rank()]), axis=0))
    return at.reshape(_put_back(at, picked, 0, flat, int(np.prod(sizes))))


def _put_back(at: Site, picked: ir.Value, axis: int, index: np.ndarray, size: int) -> ir.Value:
    """Scatter-add the elements of `picked` to the positions `index` of an axis of length `size`.

    The indices are constant, so the sum is a series of gathers: for every place the first element that was
    taken from it, then the second, and so on. A place without an element reads a row of zeros at the end.
    """
    op = at.op
    takers = [np.flatnonzero(index == place) for place in range(size)]
    row = op.Slice(picked, [0], [1], [axis])
    padded = op.Concat(picked, op.Sub(row, row), axis=axis)
    total: ir.Value | None = None
    for turn in range(max(len(taker) for taker in takers)):
        table = np.array([taker[turn] if turn < len(taker) else index.size for taker in takers], np.int64)
        part = op.Gather(padded, table, axis=axis)
        total = part if total is None else op.Add(total, part)
    assert total is not None
    return total
