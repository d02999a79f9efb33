"""LOVI, the layer-ordered visualisation: the colour of a pixel shows the scales at which it is salient.

The hue is the centre of gravity of the scales, from violet (the first) to red (the last). The saturation
falls as more scales agree. The value is that of the strongest scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
from fastcam_runtime.draw.legend import LOVI_FIRST_HUE

from ..authoring.ops import Ops, Step, last_first, make_function
from .bilinear import FreeSize, interpolate, interpolate_free, is_static, map_positions

TINY = 1e-30
"""Lower bound of the divisors, for pixels that are 0 at all scales; these are black."""

VIOLET = LOVI_FIRST_HUE / 60
"""The hue of the first scale, 300°, in sextants of the colour circle; the last scale is red, 0."""

_DOC = "Layer-ordered visualisation: hue = which scales, saturation = how few, value = how strong."


def lovi(*, opset: int, sizes: Sequence[FreeSize], size: FreeSize) -> Step:
    """The step from K normalised maps, float32 [N,h,w] each, to an RGB picture, uint8 [N,H,W,3].

    The maps are ordered shallow to deep. A pixel that is 0 at all scales is black. With a single scale the
    picture is grey. If any size is free (None), the step has one more data input after the maps, `size`:
    int64 [2], H and W.
    """
    maps = [f"M{k}" for k in range(1, len(sizes) + 1)]
    if not is_static(size, *sizes):

        def free_body(op: Ops, *inputs: ir.Value) -> ir.Value:
            *values, target = inputs
            return _picture(op, last_first(lambda _, m: interpolate_free(op, m, target), values))

        return Step(make_function("LoviDynamic", opset, [*maps, "size"], free_body, output="P", doc=_DOC))

    constants = map_positions(sizes, size)

    def body(op: Ops, *inputs: ir.Value) -> ir.Value:
        values, rest = inputs[: len(maps)], inputs[len(maps) :]
        return _picture(op, interpolate(op, values, *rest))

    return Step(make_function("Lovi", opset, [*maps, *constants], body, output="P", doc=_DOC), constants)


def _picture(op: Ops, maps: Sequence[ir.Value]) -> ir.Value:
    """uint8 [N,H,W,3] from K maps [N,H,W]."""
    if len(maps) == 1:
        grey = op.Unsqueeze(maps[0], [3])
        return _to_bytes(op, op.Concat(grey, grey, grey, axis=3))
    hue, saturation, value = (op.Unsqueeze(x, [1]) for x in _hue_saturation_value(op, maps))
    # Compute in planes and transpose at the end: broadcasting a last axis of 3 is ten times slower.
    return op.Transpose(_to_bytes(op, _rgb(op, hue, saturation, value)), perm=[0, 2, 3, 1])


def _hue_saturation_value(op: Ops, maps: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value, ir.Value]:
    last = len(maps) - 1
    total, strongest = op.Sum(*maps), op.Max(*maps)
    weighted = op.Sum(*last_first(lambda k, m: op.Mul(m, VIOLET * (1 - k / last)), maps[:-1]))
    hue = op.Div(weighted, op.Max(total, TINY))
    # 1 − (Σs/(K·max) − 1/K)/(1 − 1/K), multiplied out
    agreement = op.Div(total, op.Max(strongest, TINY))
    saturation = op.Div(op.Sub(float(len(maps)), agreement), float(last))
    return hue, saturation, strongest


def _rgb(op: Ops, hue: ir.Value, saturation: ir.Value, value: ir.Value) -> ir.Value:
    """Planes [N,3,H,W] of red, green and blue from hue 0…5 (in sextants), saturation and value, [N,1,H,W]."""
    # Each primary is a trapezoid over the hue: red around 0, green around 2, blue around 4.
    distance = op.Abs(op.Sub(hue, _planes(3, 2, 4)))
    trapezoid = op.Add(op.Mul(distance, _planes(1, -1, -1)), _planes(-1, 2, 2))
    missing = op.Sub(1.0, op.Clip(trapezoid, 0.0, 1.0))
    return op.Mul(value, op.Sub(1.0, op.Mul(saturation, missing)))


def _planes(red: float, green: float, blue: float) -> np.ndarray:
    return np.array([red, green, blue], np.float32).reshape(3, 1, 1)


def _to_bytes(op: Ops, x: ir.Value) -> ir.Value:
    return op.Cast(op.Round(op.Clip(op.Mul(x, 255.0), 0.0, 255.0)), to=ir.DataType.UINT8)
