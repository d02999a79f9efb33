"""Range (min–max): the map's smallest value becomes 0, its largest 1."""

from __future__ import annotations

import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function

TINY = 1e-30
"""A map with a smaller range counts as constant."""


def stretch(op: Ops, s: ir.Value) -> ir.Value:
    """(s − min)/max(max − min, TINY) over all but the first axis; 0 everywhere for a constant map.

    If the contrast is low, the subtraction of the minimum is exact, so no precision is lost.
    """
    above = op.Sub(s, op.reduce("ReduceMin", s, [1, 2]))
    return op.Div(above, op.Max(op.reduce("ReduceMax", above, [1, 2]), TINY))


def range_(*, opset: int, height: int | None, width: int | None) -> Step:
    """Range normalisation; independent of the map's size."""
    doc = "(S − min)/(max − min), per image; 0 for a constant map."
    return Step(make_function("RangeNormalize", opset, ["S"], stretch, output="M", doc=doc))
