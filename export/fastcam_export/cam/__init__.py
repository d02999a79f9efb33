"""Exact Grad-CAM and Grad-CAM++ in an inference graph.

The head, the part of a network between the last tap and the class scores, is small. The gradient of one score
through the head is derived operator by operator, and added to the graph as nodes that read the values of the
forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx_ir as ir
from fastcam_runtime.classes import are_class_scores
from fastcam_runtime.errors import closest

from ..analysis.taps import Tap
from ..analysis.values import Dims, known_dims
from ..authoring.branch import Branch
from ..authoring.ops import Ops
from ..authoring.tap_input import channels_first, float_activation, read_tap
from ..choices import CAM_METHODS
from ..errors import GraftError
from .closed_form import find_closed_form, gap_gradcam, gap_gradcam_plus_plus
from .gradcam import Features, gradcam, gradcam_plus_plus
from .gradient import head_gradient
from .head import Head, find_head, infer_head
from .linear_layer import LinearLayer
from .outline import outline
from .selection import class_channel, minmax, select_class

__all__ = ["class_activation_map", "minmax", "select_class"]


@dataclass(frozen=True)
class ClassActivationMap:
    """relu(Σₖ weightₖ·Aₖ), float32 [N,h,w], finite for finite features and gradients, before `minmax`."""

    value: ir.Value
    any_classes: bool
    """Whether one image may have any number of classes: the map then has one item per class."""


def class_activation_map(
    branch: Branch,
    tap: Tap,
    logits: ir.Value,
    wanted_class: ir.Value,
    *,
    shapes: Mapping[str, Dims],
    method: str,
    epsilon: float,
) -> ClassActivationMap:
    """Add the class activation map of one class per image.

    Args:
        branch: Gets the nodes `fastcam/cam/…` and the functions that they call.
        tap: The features A.
        logits: The scores N×classes before a final Softmax or Sigmoid, perhaps with axes of length 1.
        wanted_class: int64 [N] or [1]: the class, or −1 for the class with the highest score.
        shapes: What is known of the shapes between tap and scores, by name; see `infer_head`.
        method: One of `CAM_METHODS`.
        epsilon: Added to the denominator of Grad-CAM++'s α: 0 in the paper, 1e-7 and 1e-6 elsewhere.

    Raises:
        GraftError: The scores do not depend on the tap, or an operator between them has no rule; or there is
            more than one score per class, as in a segmentation.
    """
    if method not in CAM_METHODS:
        raise GraftError(f"no class map named '{method}'{closest(method, CAM_METHODS)}")
    head = find_head(branch.model.graph, tap.value, logits)
    infer_head(branch.model.graph, head, shapes)
    _check_scores(logits, (known_dims(tap.value) or (None,))[0])
    known = Features(_fixed_size(tap), tap.nonnegative)
    layer = find_closed_form(head, tap.layout)
    # onnxruntime checks a fixed number of classes itself, as the input declares it.
    checked = layer is None and None in (known_dims(wanted_class) or (None,))
    step = select_class(branch.opset, logits, one_per_image=checked)
    values = float_activation(branch, logits, "cam/logits")
    selected = branch.call(step, wanted_class, values, name="cam/class")
    features = read_tap(branch, tap.value, tap.layout, "cam")
    if layer is not None:
        value = _closed_form(branch, features, layer, selected, method, epsilon, known)
        return ClassActivationMap(value, any_classes=True)
    gradient, of_class = _gradient(branch, head, selected)
    if of_class:
        features = branch.call(class_channel(branch.opset), features, selected, name="cam/channel")
    else:
        gradient = channels_first(branch, gradient, tap.layout, "cam/gradient")
    if method == "gradcam":
        step = gradcam(branch.opset, known)
    else:
        step = gradcam_plus_plus(branch.opset, epsilon, known)
    return ClassActivationMap(branch.call(step, features, gradient, name="cam/map"), any_classes=False)


def _check_scores(logits: ir.Value, batch: int | None) -> None:
    dims = known_dims(logits)
    if dims is None or (len(dims) > 2 and not any(dims)):
        return  # the shape is unknown
    one_per_picture = len(dims) > 1 and (None in (dims[0], batch) or dims[0] == batch)
    if not one_per_picture or not are_class_scores([size or 2 for size in dims[1:]]):
        shape = "×".join("?" if d is None else str(d) for d in dims)
        raise GraftError(f"no class map: '{logits.name}' is {shape}, not one score per class (N×classes)")


def _fixed_size(tap: Tap) -> tuple[int, int] | None:
    dims = dict(zip(tap.layout, known_dims(tap.value) or (), strict=False))
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
    """SelectClass → HeadGradient. The flag says whether only the channel of the class has a gradient."""
    op = Ops(branch.opset)
    gradient, of_class = head_gradient(op, head, selected)
    doc = "Gradient of the selected class score with respect to the features."
    step, inputs = outline(op, "HeadGradient", gradient, "g", doc)
    return branch.call(step, *inputs, name="cam/gradient"), of_class
