"""The sliding window of a convolution or pooling, and its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ..site import Site


@dataclass(frozen=True)
class SlidingWindow:
    """One value per spatial axis in each field."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    """Padding before the input."""
    ends: tuple[int, ...]
    """Padding after the input."""

    @property
    def reach(self) -> tuple[int, ...]:
        """The distance between the first and the last pixel of the window."""
        return tuple((size - 1) * step for size, step in zip(self.kernel, self.dilations, strict=True))

    @property
    def skips_pixels(self) -> bool:
        """Whether a window lies in the padding alone, or pixels are cut off by a negative padding."""
        pads = zip(self.reach * 2, self.begins + self.ends, strict=True)
        return any(not 0 <= pad <= reach for reach, pad in pads)


def window_of(at: Site, kernel: Sequence[int]) -> SlidingWindow:
    """Read the window from the attributes of a Conv or a pooling node."""
    attributes, axes = at.node.attributes, len(kernel)
    strides = tuple(attributes.get_ints("strides", (1,) * axes))
    dilations = tuple(attributes.get_ints("dilations", (1,) * axes))
    pads = tuple(attributes.get_ints("pads", (0,) * (2 * axes)))
    begins, ends = pads[:axes], pads[axes:]
    auto_pad = attributes.get_string("auto_pad", "NOTSET")
    if auto_pad.startswith("SAME"):
        totals = [_same(at, axis, kernel[axis], strides[axis], dilations[axis]) for axis in range(axes)]
        smaller, larger = tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        begins, ends = (smaller, larger) if auto_pad == "SAME_UPPER" else (larger, smaller)
    elif auto_pad == "VALID":
        begins = ends = (0,) * axes
    return SlidingWindow(tuple(kernel), strides, dilations, begins, ends)


def _same(at: Site, axis: int, kernel: int, stride: int, dilation: int) -> int:
    """The padding that makes the output ⌈input/stride⌉ long."""
    reach = (kernel - 1) * dilation + 1
    if stride == 1:
        return reach - 1
    size = at.dims()[2 + axis]
    if size is None:
        raise at.refuse("its padding depends on a free height or width")
    return max((-(-size // stride) - 1) * stride + reach - size, 0)


def spread_windows(
    at: Site, g: ir.Value, weight: ir.Value, window: SlidingWindow, group: int = 1
) -> ir.Value:
    """Add each value of `g`, times `weight`, to its window in a tensor of the shape of `x`.

    This is a ConvTranspose of `g` and `weight`. Its result is up to stride − 1 too long and is then cropped,
    so the sizes need not be known.
    """
    spread: ir.Value = at.op.ConvTranspose(
        g,
        weight,
        strides=window.strides,
        dilations=window.dilations,
        output_padding=[s - 1 for s in window.strides],
        group=group,
    )
    if set(window.begins + window.ends) == {0} and set(window.strides) == {1}:
        return spread
    axes = list(range(2, 2 + len(window.kernel)))
    sizes = at.op.Slice(at.shape(), [2], [2 + len(axes)])
    starts = at.op.const(np.array(window.begins, np.int64))
    return at.op.Slice(spread, starts, at.op.Add(starts, sizes), axes)
