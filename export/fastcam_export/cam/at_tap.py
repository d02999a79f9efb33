"""The class map at one tap, from the features there and the gradient of the selected score."""

from __future__ import annotations

import onnx_ir as ir

from ..analysis.taps import Tap
from ..authoring.branch import Branch
from ..authoring.ops import Ops, Step
from ..authoring.tap_input import channels_first, read_tap
from .class_head import ClassHead
from .gradient import head_gradient
from .outline import outline
from .selection import class_channel


def map_of_gradient(
    branch: Branch, tap: Tap, head: ClassHead, selected: ir.Value, step: Step, where: str
) -> ir.Value:
    """HeadGradient → `step`, a function of features and gradient, each float32 [N,C,h,w].

    `selected` is the class of each image, int64 [N]. The nodes are named `fastcam/where/…`.

    Raises:
        GraftError: An operator of the head has no rule.
    """
    features = read_tap(branch, tap.value, tap.layout, where)
    op = Ops(branch.opset)
    gradient, of_class = head_gradient(op, head, selected)
    doc = "Gradient of the selected class score with respect to the features."
    function, inputs = outline(op, "HeadGradient", gradient, "g", doc)
    gradient = branch.call(function, *inputs, name=f"{where}/gradient")
    if of_class:
        features = branch.call(class_channel(branch.opset), features, selected, name=f"{where}/channel")
    else:
        gradient = channels_first(branch, gradient, tap.layout, f"{where}/gradient")
    return branch.call(step, features, gradient, name=f"{where}/map")
