"""Rules of the operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ...analysis.values import known_dims
from ..site import Site
from .registry import ANY, rule


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(at: Site) -> ir.Value:
    return at.reshape(at.g)


@rule("Transpose")
def transpose(at: Site) -> ir.Value:
    perm = at.node.attributes.get_ints("perm", None) or tuple(reversed(range(at.rank())))
    return at.op.Transpose(at.g, perm=[int(i) for i in np.argsort(perm)])


@rule("Expand")
def expand(at: Site) -> ir.Value:
    return at.sum_repeated(at.g)


@rule("Concat", inputs=ANY)
def concat(at: Site) -> ir.Value:
    axis = at.node.attributes.get_int("axis") % at.rank()
    start = 0
    for value in at.node.inputs[: at.index]:
        start += _length(at, value, axis)
    stop = start + _length(at, at.source, axis)
    return at.op.Slice(at.g, [start], [stop], [axis])


@rule("Split")
def split(at: Site) -> ir.Value:
    axis = at.node.attributes.get_int("axis", 0) % at.rank()
    start = sum(_length(at, value, axis) for value in at.node.outputs[: at.out])
    return _embed(at, [start if i == axis else 0 for i in range(at.rank())])


@rule("Slice")
def slice_(at: Site) -> ir.Value:
    starts, axes, steps = at.constant(1), at.constant(3), at.constant(4)
    assert starts is not None
    if steps is not None and not (steps == 1).all():
        raise at.refuse("its steps are not 1")
    before = [0] * at.rank()
    for start, axis in zip(starts, axes if axes is not None else range(len(starts)), strict=True):
        size = at.dims()[int(axis)]
        if size is None and start < 0:
            raise at.refuse("it counts from the end of a free dimension")
        before[int(axis) % at.rank()] = int(start) if start >= 0 else max(int(start) + (size or 0), 0)
    return _embed(at, before)


@rule("Pad")
def pad(at: Site) -> ir.Value:
    op, pads, axes = at.op, at.constant(1), at.constant(3)
    assert pads is not None
    if at.node.attributes.get_string("mode", "constant") != "constant" or (pads < 0).any():
        raise at.refuse("it repeats or crops the picture")
    where = list(range(at.rank())) if axes is None else [int(axis) % at.rank() for axis in axes]
    before = np.zeros(at.rank(), np.int64)
    before[where] = pads[: len(where)]
    starts = op.const(before)
    return op.Slice(at.g, starts, op.Add(starts, at.shape()), list(range(at.rank())))


def _length(at: Site, value: ir.Value | None, axis: int) -> int:
    dims = None if value is None else known_dims(value)
    length = None if dims is None else dims[axis]
    if length is None:
        raise at.refuse(f"the length of axis {axis} is free")
    return length


def _embed(at: Site, before: Sequence[int]) -> ir.Value:
    """`g` inside a tensor of zeros with the shape of `x`, `before` elements from the start."""
    op, first = at.op, at.op.const(np.array(before, np.int64))
    last = op.Sub(op.Sub(at.shape(), first), op.Shape(at.g))
    return op.Pad(at.g, op.Concat(first, last, axis=0))
