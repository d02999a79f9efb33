"""LayerCAM of the deepest scales: relu(Σₖ relu(gₖ)·Aₖ) with the gradient g of a class score at each of them.

Grad-CAM has one weight per channel and so only the resolution of the last scale. LayerCAM has a weight per
pixel, which is what makes the map of an earlier scale useful. The gradient passes through all layers behind
that scale: it costs about as much as running them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from ..analysis.taps import Tap
from ..analysis.values import Dims
from ..authoring.branch import Branch
from ..authoring.ops import Ops, Step, make_function
from .at_tap import map_of_gradient
from .class_head import find_head, infer_head
from .selection import check_scores, minmax, selected_class

SCALES = 2
"""The deepest scales whose maps are averaged. More were not measured; see docs/quality.md."""


def layer_activation_maps(
    branch: Branch,
    taps: Sequence[Tap],
    logits: ir.Value,
    wanted_class: ir.Value,
    *,
    shapes: Mapping[str, Dims],
) -> list[ir.Value]:
    """The LayerCAM of one class per image at each tap, float32 [N,h,w] from 0 to 1.

    The other arguments are those of `class_activation_map`.

    Raises:
        GraftError: The scores do not depend on a tap, or an operator between them has no rule; or there is
            more than one score per class, as in a segmentation.
    """
    heads = [find_head(branch.model.graph, tap.value, logits) for tap in taps]
    for head in heads:
        infer_head(branch.model.graph, head, shapes)
    check_scores(logits, taps[-1])
    selected = selected_class(branch, logits, wanted_class, one_per_image=True)
    maps = []
    for number, (tap, head) in enumerate(zip(taps, heads, strict=True)):
        value = map_of_gradient(branch, tap, head, selected, layercam(branch.opset), f"cam/layer_{number}")
        maps.append(branch.call(minmax(branch.opset), value, name=f"cam/layer_{number}/minmax"))
    return maps


def layercam(opset: int) -> Step:
    """relu(Σₖ relu(gₖ)·Aₖ) from the features A and the gradient g, float32 [N,C,h,w]."""

    def body(op: Ops, a: ir.Value, g: ir.Value) -> ir.Value:
        return op.Relu(op.reduce("ReduceSum", op.Mul(op.Relu(g), a), [1], keepdims=False))

    doc = "LayerCAM of the features A and the gradient g of a class score."
    return Step(make_function("LayerCam", opset, ["A", "g"], body, output="cam", doc=doc))
