"""Exact Grad-CAM and Grad-CAM++ in a graph that only runs forward.

From the last tap to the class scores a network is small. The gradient of one score through that head is
derived here operator by operator, and added to the graph as nodes that read what the forward pass has
computed already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.errors import closest

from ..authoring import Ops
from ..branch import Branch
from ..errors import GraftError
from ..tapping import float_activation
from .closed_form import find_closed_form, gap_gradcam, gap_gradcam_plus_plus
from .gradcam import Features, gradcam, gradcam_plus_plus
from .gradient import head_gradient
from .head import Head, find_head, find_logits
from .inference import infer_head
from .linear_layer import LinearLayer
from .outline import outline
from .rules import supported_operators
from .selection import class_channel, minmax, select_class
from .site import static_dims

__all__ = ["METHODS", "class_activation_map", "find_logits", "minmax", "select_class", "supported_operators"]

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
    tap_shape: Sequence[int | None] = (None, None, None, None),
    nonnegative: bool = False,
) -> ClassActivationMap:
    """Grow the class activation map of one class per image.

    Args:
        branch: Gets the nodes `fastcam/cam/…` and the functions that they call.
        tap: The features A, [N,C,h,w].
        scores: The class scores, N×classes, with axes of length 1 or without. A final Softmax, LogSoftmax or
            Sigmoid is looked through: the gradient is that of the logit.
        wanted_class: int64 [N] or [1]: the class, or −1 for the class with the highest score.
        method: One of `METHODS`.
        epsilon: Added to the denominator of Grad-CAM++'s α: 0 in the paper, 1e-7 and 1e-6 elsewhere.
        tap_shape: The tap's shape, None for free dimensions: used where inference does not find it.
        nonnegative: Whether the tap is known to have no negative values, which saves a few nodes.

    Raises:
        GraftError: The scores do not follow from the tap, or follow through an operator without a rule;
            or there is more than one of them per class, as in a segmentation.
    """
    if method not in METHODS:
        raise GraftError(f"no class map named '{method}'{closest(method, METHODS)}")
    logits, _ = find_logits(scores)
    head = find_head(branch.model.graph, tap, logits)
    infer_head(branch.model.graph, head, tap_shape)
    _check_scores(scores, static_dims(logits), (static_dims(tap) or (None,))[0])
    known = Features(_fixed_size(tap), nonnegative)
    values = float_activation(branch, logits, "cam/logits")
    selected = branch.call(select_class(branch.opset, logits), wanted_class, values, name="cam/class")
    layer = find_closed_form(head)
    if layer is None:
        return ClassActivationMap(_general(branch, head, selected, method, epsilon, known), False)
    return ClassActivationMap(_closed_form(branch, head, layer, selected, method, epsilon, known), True)


def _check_scores(scores: ir.Value, dims: tuple[int | None, ...] | None, batch: int | None) -> None:
    if dims is None:
        return
    one_per_picture = len(dims) > 1 and (None in (dims[0], batch) or dims[0] == batch)
    if not one_per_picture or sum(d != 1 for d in dims[1:]) > 1:
        shape = "×".join("?" if d is None else str(d) for d in dims)
        raise GraftError(f"no class map: '{scores.name}' is {shape}, not one score per class (N×classes)")


def _fixed_size(tap: ir.Value) -> tuple[int, int] | None:
    *_, height, width = static_dims(tap) or (None, None)
    return None if height is None or width is None else (height, width)


def _closed_form(
    branch: Branch,
    head: Head,
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
    features = float_activation(branch, head.tap, "cam")
    if method == "gradcam":
        return branch.call(gap_gradcam(branch.opset, known), features, w, name="cam/map")
    gap = float_activation(branch, layer.source, "cam/gap")
    rank = None if layer.source.shape is None else len(layer.source.shape)
    step = gap_gradcam_plus_plus(branch.opset, epsilon, known, rank)
    return branch.call(step, features, gap, w, name="cam/map")


def _general(
    branch: Branch, head: Head, selected: ir.Value, method: str, epsilon: float, known: Features
) -> ir.Value:
    """SelectClass → HeadGradient → GradCam or GradCamPlusPlus."""
    op = Ops(branch.opset)
    gradient, of_class = head_gradient(op, head, selected)
    doc = "Gradient of the selected class score with respect to the features."
    step, inputs = outline(op, "HeadGradient", gradient, "g", doc)
    g = branch.call(step, *inputs, name="cam/gradient")
    features = float_activation(branch, head.tap, "cam")
    if of_class:
        features = branch.call(class_channel(branch.opset), features, selected, name="cam/channel")
    if method == "gradcam":
        return branch.call(gradcam(branch.opset, known), features, g, name="cam/map")
    return branch.call(gradcam_plus_plus(branch.opset, epsilon, known), features, g, name="cam/map")
