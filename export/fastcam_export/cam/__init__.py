"""Exact Grad-CAM, Grad-CAM++ and LayerCAM in an inference graph.

The head, the part of a network between the last tap and the class scores, is small. The gradient of one score
through the head is derived operator by operator, and added to the graph as nodes that read the values of the
forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx_ir as ir

from ..analysis.taps import Tap
from ..analysis.values import Dims, known_dims
from ..authoring.branch import Branch
from ..authoring.ops import Ops
from ..authoring.tap_input import float_activation, read_tap
from .at_tap import map_of_gradient
from .class_head import find_head, infer_head
from .closed_form import find_closed_form, gap_gradcam, gap_gradcam_plus_plus
from .gradcam import Features, class_map
from .layercam import SCALES, layer_activation_maps
from .linear_layer import LinearLayer
from .outline import outline
from .selection import check_scores, minmax, selected_class

__all__ = ["SCALES", "class_activation_map", "layer_activation_maps", "minmax"]


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
        method: `gradcam` or `gradcam++`.
        epsilon: Added to the denominator of Grad-CAM++'s α: 0 in the paper, 1e-7 and 1e-6 elsewhere.

    Raises:
        GraftError: The scores do not depend on the tap, or an operator between them has no rule; or there is
            more than one score per class, as in a segmentation.
    """
    head = find_head(branch.model.graph, tap.value, logits)
    infer_head(branch.model.graph, head, shapes)
    check_scores(logits, tap)
    known = Features(_fixed_size(tap), tap.nonnegative)
    layer = find_closed_form(head, tap.layout)
    # onnxruntime checks a fixed number of classes itself, as the input declares it.
    checked = layer is None and None in (known_dims(wanted_class) or (None,))
    selected = selected_class(branch, logits, wanted_class, one_per_image=checked)
    if layer is not None:
        features = read_tap(branch, tap.value, tap.layout, "cam")
        value = _closed_form(branch, features, layer, selected, method, epsilon, known)
        return ClassActivationMap(value, any_classes=True)
    step = class_map(method, branch.opset, epsilon, known)
    value = map_of_gradient(branch, tap, head, selected, step, "cam")
    return ClassActivationMap(value, any_classes=False)


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
