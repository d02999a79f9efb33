"""Exact Grad-CAM and Grad-CAM++ in a graph that only runs forward.

From the last tap to the class scores a network is small. The gradient of one score through that head is
derived here operator by operator, and added to the graph as nodes that read what the forward pass has
computed already.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.errors import closest
from fastcam_runtime.scores import are_class_scores

from ..authoring import Ops
from ..bilinear import Size
from ..branch import Branch
from ..errors import GraftError
from ..graph.scores import find_logits
from ..tapping import channels_first, float_activation, tapped
from .closed_form import find_closed_form, gap_gradcam, gap_gradcam_plus_plus
from .gradcam import Features, gradcam, gradcam_plus_plus
from .gradient import head_gradient
from .head import Head, find_head
from .inference import infer_head
from .linear_layer import LinearLayer
from .outline import outline
from .rules import supported_operators
from .selection import class_channel, minmax, select_class
from .site import static_dims

__all__ = ["METHODS", "class_activation_map", "minmax", "select_class", "supported_operators"]

METHODS = ("gradcam++", "gradcam")
"""The names that `class_activation_map` takes; the first is the default."""


@dataclass(frozen=True)
class ClassActivationMap:
    """relu(Σₖ weightₖ·Aₖ), float32 [N,h,w], finite for finite features and gradients, before `minmax`."""

    value: ir.Value
    any_classes: bool
    """Whether one image may be given any number of classes: the map then has one item per class."""


def class_activation_map(
    branch: Branch,
    tap: ir.Value,
    scores: ir.Value,
    wanted_class: ir.Value,
    *,
    method: str = METHODS[0],
    epsilon: float = 0.0,
    channels: int | None = None,
    size: Size = (None, None),
    layout: str = "NCHW",
    nonnegative: bool = False,
) -> ClassActivationMap:
    """Grow the class activation map of one class per image.

    Args:
        branch: Gets the nodes `fastcam/cam/…` and the functions that they call.
        tap: The features A, [N,C,h,w] or [N,h,w,C].
        scores: The class scores, N×classes, with axes of length 1 or without. A final Softmax, LogSoftmax or
            Sigmoid is looked through: the gradient is that of the logit.
        wanted_class: int64 [N] or [1]: the class, or −1 for the class with the highest score.
        method: One of `METHODS`.
        epsilon: Added to the denominator of Grad-CAM++'s α: 0 in the paper, 1e-7 and 1e-6 elsewhere.
        channels: The tap's C; None where it is free. Used, like `size`, where inference does not find it.
        size: The tap's h and w, None where one is free.
        layout: The tap's, `NCHW` or `NHWC`.
        nonnegative: Whether the tap is known to have no negative values, which saves a few nodes.

    Raises:
        GraftError: The scores do not follow from the tap, or follow through an operator without a rule;
            or there is more than one of them per class, as in a segmentation.
    """
    if method not in METHODS:
        raise GraftError(f"no class map named '{method}'{closest(method, METHODS)}")
    logits, _ = find_logits(scores)
    head = find_head(branch.model.graph, tap, logits)
    dims = {"N": None, "C": channels, "H": size[0], "W": size[1]}
    infer_head(branch.model.graph, head, [dims[axis] for axis in layout])
    _check_scores(scores, static_dims(logits), (static_dims(tap) or (None,))[0])
    known = Features(_fixed_size(tap, layout), nonnegative)
    values = float_activation(branch, logits, "cam/logits")
    selected = branch.call(select_class(branch.opset, logits), wanted_class, values, name="cam/class")
    layer = find_closed_form(head, layout)
    features = tapped(branch, tap, layout, "cam")
    if layer is not None:
        value = _closed_form(branch, features, layer, selected, method, epsilon, known)
        return ClassActivationMap(value, any_classes=True)
    gradient, of_class = _gradient(branch, head, selected)
    if of_class:
        features = branch.call(class_channel(branch.opset), features, selected, name="cam/channel")
    else:
        gradient = channels_first(branch, gradient, layout, "cam/gradient")
    if method == "gradcam":
        step = gradcam(branch.opset, known)
    else:
        step = gradcam_plus_plus(branch.opset, epsilon, known)
    return ClassActivationMap(branch.call(step, features, gradient, name="cam/map"), any_classes=False)


def _check_scores(scores: ir.Value, dims: tuple[int | None, ...] | None, batch: int | None) -> None:
    if dims is None:
        return
    one_per_picture = len(dims) > 1 and (None in (dims[0], batch) or dims[0] == batch)
    if not one_per_picture or not are_class_scores(dims[1:]):
        shape = "×".join("?" if d is None else str(d) for d in dims)
        raise GraftError(f"no class map: '{scores.name}' is {shape}, not one score per class (N×classes)")


def _fixed_size(tap: ir.Value, layout: str) -> tuple[int, int] | None:
    dims = dict(zip(layout, static_dims(tap) or (), strict=False))
    height, width = dims.get("H"), dims.get("W")
    return None if height is None or width is None else (height, width)


def _closed_form(
    branch: Branch,
    features: ir.Value,
    layer: LinearLayer,
    selected: ir.Value,
    method: str,
    epsilon: float,
    known: Features,
) -> ir.Value:
    """SelectClass → ClassWeights → GapGradCam or GapGradCamPlusPlus."""
    op = Ops(branch.opset)
    doc = "The weights of the selected class in the last linear layer."
    step, inputs = outline(op, "ClassWeights", layer.rows(op, selected), "w", doc)
    w = branch.call(step, *inputs, name="cam/weights")
    if method == "gradcam":
        return branch.call(gap_gradcam(branch.opset, known), features, w, name="cam/map")
    gap = float_activation(branch, layer.source, "cam/gap")
    rank = None if layer.source.shape is None else len(layer.source.shape)
    step = gap_gradcam_plus_plus(branch.opset, epsilon, known, rank)
    return branch.call(step, features, gap, w, name="cam/map")


def _gradient(branch: Branch, head: Head, selected: ir.Value) -> tuple[ir.Value, bool]:
    """SelectClass → HeadGradient; and whether it is that of the class's own channel alone."""
    op = Ops(branch.opset)
    gradient, of_class = head_gradient(op, head, selected)
    doc = "Gradient of the selected class score with respect to the features."
    step, inputs = outline(op, "HeadGradient", gradient, "g", doc)
    return branch.call(step, *inputs, name="cam/gradient"), of_class
