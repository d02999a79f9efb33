"""The map as pixels: bytes, or an RGBA overlay layer in the style of the runtime's blend `focus`."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir
from fastcam_runtime.draw import colormaps

from ..authoring.ops import Ops, Step, make_function

LOW, HIGH = 0.5, 0.995
"""Quantiles of the map: the opacity grows from 0 at the first to 1 at the second."""
LEAST_RANGE = 1e-6
_SAMPLES = 4096
"""About how many pixels are sorted for the percentiles: the map is smooth, and sorting all pixels is slow."""


def byte_map(*, opset: int) -> Step:
    """The step from a map, float32 [N,H,W] in 0…1, to round(255·map), uint8 [N,H,W]."""
    doc = "The map as bytes."
    return Step(make_function("MapToBytes", opset, ["M"], _to_bytes, output="B", doc=doc))


def overlay_layer(*, opset: int, height: int, width: int) -> Step:
    """The step from a map, float32 [N,H,W], to its overlay layer, uint8 [N,H,W,4]: red, green, blue, opacity.

    The layer is transparent below the map's median and opaque above the 99.5th percentile. The percentiles
    are those of a subsampled map.
    """
    stride = max(1, math.isqrt(height * width // _SAMPLES))
    count = math.ceil(height / stride) * math.ceil(width / stride)
    ranks = [(1 - share) * (count - 1) for share in (LOW, HIGH)]

    def body(op: Ops, m: ir.Value, table: ir.Value) -> ir.Value:
        sample = op.Slice(m, [0, 0], [height, width], [1, 2], [stride, stride])
        ordered = op.largest(op.Reshape(sample, [0, -1]), math.ceil(ranks[0]) + 1)
        low, high = (op.Unsqueeze(_at(op, ordered, rank), [2]) for rank in ranks)
        share = op.Div(op.Sub(m, low), op.Max(op.Sub(high, low), LEAST_RANGE))
        return op.Gather(table, op.Cast(_levels(op, share), to=ir.DataType.INT32))

    doc = "The map's overlay layer: colours, and an opacity that follows the map."
    function = make_function("OverlayLayer", opset, ["M", "table"], body, output="L", doc=doc)
    return Step(function, {"table": _table()})


def _at(op: Ops, ordered: ir.Value, rank: float) -> ir.Value:
    """The value at a rank of [N,K], largest first, as [N,1]; interpolated if the rank is not an integer."""
    below, rest = int(rank), rank - int(rank)
    value: ir.Value = op.Gather(ordered, [below], axis=1)
    if rest:
        value = op.Add(op.Mul(value, 1 - rest), op.Mul(op.Gather(ordered, [below + 1], axis=1), rest))
    return value


def _levels(op: Ops, share: ir.Value) -> ir.Value:
    return op.Round(op.Mul(op.Clip(share, 0.0, 1.0), 255.0))


def _to_bytes(op: Ops, m: ir.Value) -> ir.Value:
    return op.Cast(_levels(op, m), to=ir.DataType.UINT8)


def _table() -> np.ndarray:
    """Red, green, blue and opacity of the 256 levels."""
    colours = colormaps.table(colormaps.DEFAULT).reshape(256, 3)[:, ::-1]
    return np.concatenate([colours, np.arange(256, dtype=np.uint8)[:, None]], axis=1)
