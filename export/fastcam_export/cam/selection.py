"""The steps before and after the map: the selection of the class, and min–max normalisation."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from fastcam_runtime.classes import are_class_scores

from ..analysis.taps import Tap
from ..analysis.values import known_dims
from ..authoring.branch import Branch
from ..authoring.ops import Ops, Step, make_function
from ..authoring.tap_input import float_activation
from ..errors import GraftError

ROUNDING = 1e-6
"""A map whose range is below this share of its maximum counts as constant: upsampling rounds that much."""


def check_scores(logits: ir.Value, tap: Tap) -> None:
    """Refuse scores that are not one per class and picture; a shape that is unknown passes.

    Raises:
        GraftError: The message has the shape.
    """
    dims, batch = known_dims(logits), (known_dims(tap.value) or (None,))[0]
    if dims is None or (len(dims) > 2 and not any(dims)):
        return
    one_per_picture = len(dims) > 1 and (None in (dims[0], batch) or dims[0] == batch)
    if not one_per_picture or not are_class_scores([size or 2 for size in dims[1:]]):
        shape = "×".join("?" if d is None else str(d) for d in dims)
        raise GraftError(f"no class map: '{logits.name}' is {shape}, not one score per class (N×classes)")


def selected_class(
    branch: Branch, logits: ir.Value, wanted_class: ir.Value, *, one_per_image: bool
) -> ir.Value:
    """Add the nodes `fastcam/cam/class` of `select_class`; its result, int64."""
    step = select_class(branch.opset, logits, one_per_image=one_per_image)
    values = float_activation(branch, logits, "cam/logits")
    return branch.call(step, wanted_class, values, name="cam/class")


def select_class(opset: int, logits: ir.Value, *, one_per_image: bool) -> Step:
    """From `saliency_class` [N] or [1] and the logits N×classes(×1×1) to the class of each image, int64 [N].

    A negative number selects the class with the highest score, a number above the last class the last one.
    With `one_per_image`, several classes for one image fail at run time; without it, all are returned,
    [classes].
    """
    dims = known_dims(logits)
    classes = dims[1] if dims is not None and len(dims) == 2 else None

    def body(op: Ops, wanted: ir.Value, scores: ir.Value) -> ir.Value:
        if classes is None:
            scores = op.Flatten(scores, axis=1)
            last = op.Sub(op.Slice(op.Shape(scores), [1], [2]), 1)
        else:
            last = op.const(classes - 1)
        highest = op.ArgMax(scores, axis=1, keepdims=0)
        selected = op.Where(op.Less(wanted, 0), highest, op.Min(wanted, last))
        return op.Reshape(selected, op.Shape(highest)) if one_per_image else selected

    doc = "The wanted class, or the one with the highest score where −1 is wanted."
    return Step(make_function("SelectClass", opset, ["wanted", "scores"], body, output="class", doc=doc))


def class_channel(opset: int) -> Step:
    """From features [N,C,h,w] and a class index [N] to the channel of that number, [N,1,h,w]."""

    def body(op: Ops, a: ir.Value, index: ir.Value) -> ir.Value:
        return op.Unsqueeze(op.GatherND(a, op.Unsqueeze(index, [1]), batch_dims=1), [1])

    doc = "The channel of the selected class, where every class has one of its own."
    return Step(make_function("ClassChannel", opset, ["A", "class"], body, output="channel", doc=doc))


def scaled(op: Ops, cam: ir.Value) -> ir.Value:
    """(cam − min)/(max − min) of each image of a map [N,H,W]; 0 where it is constant."""
    least = op.reduce("ReduceMin", cam, [1, 2])
    most = op.reduce("ReduceMax", cam, [1, 2])
    span = op.Sub(most, least)
    varies = op.Greater(span, op.Mul(most, ROUNDING))
    return op.Div(op.Sub(cam, least), op.Where(varies, span, np.float32(np.inf)))


def minmax(opset: int) -> Step:
    """Min–max of a non-negative map [N,H,W], per image: 0…1, and 0 everywhere for a constant map."""
    doc = "(cam − min)/(max − min) per image; 0 where the map is constant."
    return Step(make_function("MinMax", opset, ["cam"], scaled, output="normalised", doc=doc))
