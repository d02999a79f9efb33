"""GlobalAveragePool → Linear: the gradient is the class's row of weights, the same at every pixel.

With w the row, gapₖ the mean of channel k and g = w/HW: Grad-CAM's weights are w, and Grad-CAM++'s
Σ α·relu(g) = relu(w)/(2 + w·gap), or with ε: relu(w)·w²/(w²(2 + w·gap) + ε·(HW)²).
"""

from __future__ import annotations

import math

import onnx_ir as ir

from ..analysis.operators import facts
from ..analysis.values import known_dims
from ..authoring.ops import Ops, Step, make_function
from .class_head import ClassHead
from .gradcam import Features, alpha_relu, weighted_sum, with_epsilon
from .linear_layer import LinearLayer, linear_layer
from .rules.reductions import reduced_axes


def find_closed_form(head: ClassHead, layout: str = "NCHW") -> LinearLayer | None:
    """The layer of a head that is only pooling and a linear layer, else None; `layout` is the tap's."""
    value = head.logits
    layer = linear_layer(value, head.path)
    while layer is None:
        node = value.producer()
        if node is None or not (_keeps_values(node) or node.op_type == "Add"):
            return None
        sources = [source for source in node.inputs if source is not None and source in head.path]
        if len(sources) != 1 or not _counts_classes(head.logits, sources[0]):
            return None
        value = sources[0]
        layer = linear_layer(value, head.path)
    value = layer.source
    while (node := value.producer()) is not None and _keeps_values(node) and node.inputs[0] is not None:
        value = node.inputs[0]
    if node is None or node.inputs[0] not in head.twins or not _is_global_mean(node, layout):
        return None
    return layer


def gap_gradcam(opset: int, known: Features) -> Step:
    """relu(Σₖ wₖAₖ) from the features A and the class's weights w, [N,C]."""

    def body(op: Ops, a: ir.Value, w: ir.Value) -> ir.Value:
        return weighted_sum(op, a, w, known)

    doc = "Grad-CAM of a GlobalAveragePool–Linear head, w the class's weights."
    return Step(make_function("GapGradCam", opset, ["A", "w"], body, output="cam", doc=doc))


def gap_gradcam_plus_plus(opset: int, epsilon: float, known: Features, gap_rank: int | None) -> Step:
    """relu(Σₖ relu(wₖ)/(2 + wₖ·gapₖ + ε(HW)²/wₖ²)·Aₖ), from A, its means gap, [N,C] or [N,C,1,1], and w."""

    def body(op: Ops, a: ir.Value, gap: ir.Value, w: ir.Value) -> ir.Value:
        offset = None
        if epsilon:
            pixels = _pixels(op, a, known)
            offset = op.Mul(op.Mul(pixels, pixels), op.attribute("epsilon"))
        means = gap if gap_rank == 2 else op.Flatten(gap, axis=1)
        return weighted_sum(op, a, alpha_relu(op, w, means, offset, known), known)

    doc = "Grad-CAM++ of a GlobalAveragePool–Linear head, w the class's weights."
    return with_epsilon("GapGradCamPlusPlus", opset, ["A", "gap", "w"], body, epsilon, doc)


def _pixels(op: Ops, a: ir.Value, known: Features) -> ir.Value | float:
    """HW, from the features: one image may have several rows of weights."""
    if known.size is not None:
        return float(math.prod(known.size))
    return op.Cast(
        op.reduce("ReduceProd", op.Slice(op.Shape(a), [2], [4]), [0], keepdims=False), to=ir.DataType.FLOAT
    )


def _keeps_values(node: ir.Node) -> bool:
    """Whether a node may stand between the pool and the linear layer, or behind the layer."""
    operator = facts(node.op_type)
    return operator.copies or operator.reshapes


def _is_global_mean(node: ir.Node, layout: str) -> bool:
    if node.op_type == "GlobalAveragePool":
        return layout == "NCHW"
    source = node.inputs[0]
    dims = None if source is None else known_dims(source)
    if dims is None or len(dims) != 4:
        return False
    if node.op_type == "ReduceMean":
        return sorted(reduced_axes(node, 4)) == [layout.index("H"), layout.index("W")]
    if node.op_type == "AveragePool" and layout == "NCHW":
        kernel = tuple(node.attributes.get_ints("kernel_shape", ()))
        padded = node.attributes.get_string("auto_pad", "NOTSET").startswith("SAME")
        return kernel == dims[2:] and not padded and not any(node.attributes.get_ints("pads", (0,)))
    return False


def _counts_classes(logits: ir.Value, value: ir.Value) -> bool:
    """Whether `value` holds the classes along axis 1 and nothing else, as the logits do."""
    a, b = known_dims(logits), known_dims(value)
    if a is None or b is None or len(a) < 2 or a[1] is None:
        return False
    return a[1:2] == b[1:2] and set(a[2:] + b[2:]) <= {1}
