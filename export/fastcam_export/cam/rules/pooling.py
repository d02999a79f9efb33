"""Rules of the poolings."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ..site import Site
from .reductions import spread_mean
from .registry import rule
from .sliding_window import SlidingWindow, spread_windows, window_of


@rule("GlobalAveragePool")
def global_average_pool(at: Site) -> ir.Value:
    return spread_mean(at, at.g, list(range(2, at.rank())))


@rule("GlobalMaxPool")
def global_max_pool(at: Site) -> ir.Value:
    """The cotangent goes to the first of the largest elements."""
    op = at.op
    flat = op.Reshape(at.x, [0, 0, -1])
    first = op.ArgMax(flat, axis=2, keepdims=1)
    positions = op.Range(0, op.Squeeze(op.Slice(op.Shape(flat), [2], [3]), [0]), 1)
    g = op.Reshape(at.g, [0, 0, 1])
    return at.reshape(op.Where(op.Equal(first, positions), g, 0.0))


@rule("AveragePool")
def average_pool(at: Site) -> ir.Value:
    op = at.op
    window = window_of(at, at.node.attributes.get_ints("kernel_shape", ()))
    padded = set(window.begins + window.ends) != {0}
    if tuple(at.dims()[2:]) == window.kernel and not padded:
        return spread_mean(at, at.g, list(range(2, at.rank())))
    include_pad = bool(at.node.attributes.get_int("count_include_pad", 0))
    ceil_mode = bool(at.node.attributes.get_int("ceil_mode", 0))
    if ceil_mode or (padded and not include_pad):
        number = _elements(at, window, include_pad, ceil_mode)
    else:
        number = np.array(float(np.prod(window.kernel)))
    ones = op.const(np.ones((1, 1, *window.kernel), np.float32))
    return at.reshape(spread_windows(at, _one_channel(at, op.Div(at.g, number)), ones, window))


def _elements(at: Site, window: SlidingWindow, include_pad: bool, ceil_mode: bool) -> np.ndarray:
    """The number of elements of each average: windows may reach into the padding or beyond it."""
    total = np.ones(())
    for size, k, s, d, begin, end in zip(
        at.dims()[2:],
        window.kernel,
        window.strides,
        window.dilations,
        window.begins,
        window.ends,
        strict=True,
    ):
        if size is None:
            raise at.refuse("its averages depend on a free height or width")
        steps = size + begin + end - (k - 1) * d - 1
        number = (-(-steps // s) if ceil_mode else steps // s) + 1
        if ceil_mode and (number - 1) * s >= size + begin:
            number -= 1  # a window that would start after the input
        places = np.arange(number)[:, None] * s - begin + np.arange(k) * d
        inside = (places < size + end) if include_pad else (places >= 0) & (places < size)
        total = np.multiply.outer(total, inside.sum(axis=1).astype(np.float64))
    return total


@rule("MaxPool")
def max_pool(at: Site) -> ir.Value:
    """The cotangent goes to the first of the largest elements of each window; windows may overlap.

    The index of the largest element minus the start of the window gives its position among the k elements of
    the window. Each of the k positions gets its own channel, which is scattered to its place.
    """
    op, node = at.op, at.node
    window = window_of(at, node.attributes.get_ints("kernel_shape", ()))
    kept = ("kernel_shape", "strides", "pads", "dilations", "auto_pad", "ceil_mode")
    attributes = {name: node.attributes[name].value for name in kept if name in node.attributes}
    pool = op.MaxPool(at.x, **attributes).producer()
    assert pool is not None
    pool.resize_outputs(2)
    size = int(np.prod(window.kernel))
    place = _one_channel(at, _place_in_window(at, pool.outputs[1], window))
    channels = op.const(np.arange(size).reshape(1, size, *(1,) * len(window.kernel)))
    apart = op.Where(op.Equal(place, channels), _one_channel(at, at.g), 0.0)
    kernels = op.const(np.eye(size, dtype=np.float32).reshape(size, 1, *window.kernel))
    return at.reshape(spread_windows(at, apart, kernels, window))


def _place_in_window(at: Site, index: ir.Value, window: SlidingWindow) -> ir.Value:
    """From the index of an element in the whole tensor to its position within the window."""
    op = at.op
    shape, out = at.shape(), op.Shape(at.g)
    place: ir.Value | None = None
    weight = 1
    for axis in reversed(range(len(window.kernel))):
        size = op.Squeeze(op.Slice(shape, [2 + axis], [3 + axis]), [0])
        along = op.Mod(index, size)
        index = op.Div(index, size)
        steps = op.Range(0, op.Squeeze(op.Slice(out, [2 + axis], [3 + axis]), [0]), 1)
        starts = op.Sub(op.Mul(steps, window.strides[axis]), window.begins[axis])
        starts = op.Reshape(starts, [-1, *(1,) * (len(window.kernel) - 1 - axis)])
        element = op.Mul(op.Div(op.Sub(along, starts), window.dilations[axis]), weight)
        place = element if place is None else op.Add(place, element)
        weight *= window.kernel[axis]
    assert place is not None
    return place


def _one_channel(at: Site, value: ir.Value) -> ir.Value:
    """N×C×h×w as (N·C)×1×h×w: channels are pooled independently."""
    spatial = at.op.Slice(at.op.Shape(at.g), [2], [at.rank()])
    return at.op.Reshape(value, at.op.Concat([-1, 1], spatial, axis=0))
