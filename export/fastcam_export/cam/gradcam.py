"""Grad-CAM and Grad-CAM++ as functions of the graph: from features and gradient to the map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import onnx_ir as ir

from ..authoring.ops import Ops, Step, make_function

LEAST_DENOMINATOR = 1e-6
"""The rounding error of 2 + ΣA·g near 0. The sum gets there only if features are negative."""


@dataclass(frozen=True)
class Features:
    """What is known about the features A, [N,C,h,w], at export."""

    size: tuple[int, int] | None = None
    """h and w, None where one is free."""
    nonnegative: bool = False


def class_map(method: str, opset: int, epsilon: float, known: Features) -> Step:
    """The step of `gradcam` or `gradcam++`, from the features A and the gradient g."""
    return gradcam(opset, known) if method == "gradcam" else gradcam_plus_plus(opset, epsilon, known)


def gradcam(opset: int, known: Features) -> Step:
    """relu(Σₖ wₖAₖ) with wₖ the mean of g, from the features A and the gradient g, float32 [N,C,h,w]."""

    def body(op: Ops, a: ir.Value, g: ir.Value) -> ir.Value:
        return weighted_sum(op, a, op.reduce("ReduceMean", g, [2, 3], keepdims=False), known)

    doc = "Grad-CAM of the features A and the gradient g of a class score."
    return Step(make_function("GradCam", opset, ["A", "g"], body, output="cam", doc=doc))


def gradcam_plus_plus(opset: int, epsilon: float, known: Features) -> Step:
    """relu(Σₖ wₖAₖ) with w = Σ α·relu(g), α = g²/(2g² + ΣA·g³ + ε), from the features A and g."""

    def body(op: Ops, a: ir.Value, g: ir.Value) -> ir.Value:
        offset = op.attribute("epsilon") if epsilon else None
        scaled = alpha_relu(op, g, op.reduce("ReduceSum", a, [2, 3]), offset, known)
        return weighted_sum(op, a, op.reduce("ReduceSum", scaled, [2, 3], keepdims=False), known)

    doc = "Grad-CAM++ of the features A and the gradient g of a class score."
    return with_epsilon("GradCamPlusPlus", opset, ["A", "g"], body, epsilon, doc)


def with_epsilon(
    name: str, opset: int, inputs: list[str], body: Callable[..., ir.Value], epsilon: float, doc: str
) -> Step:
    """The step of a function that has the attribute `epsilon` if that is not 0."""
    attributes = {"epsilon": epsilon} if epsilon else {}
    function = make_function(name, opset, inputs, body, output="cam", attributes=list(attributes), doc=doc)
    return Step(function, attributes=attributes)


def alpha_relu(op: Ops, g: ir.Value, total: ir.Value, offset: ir.Value | None, known: Features) -> ir.Value:
    """α·relu(g) as r/(2 + ΣA·r + ε/r²) with r = relu(g): no power of g overflows, and 0 stays 0.

    `total` is ΣA and `offset` is ε. Where features may be negative, a denominator within float32's
    rounding of 0 counts as `LEAST_DENOMINATOR`.
    """
    r = op.Relu(g)
    denominator = op.Add(op.Mul(total, r), 2.0)
    if offset is not None:
        denominator = op.Add(denominator, op.Div(op.Div(offset, r), r))
    if not known.nonnegative:
        near = op.Less(op.Abs(denominator), LEAST_DENOMINATOR)
        denominator = op.Where(near, LEAST_DENOMINATOR, denominator)
    return op.Div(r, denominator)


def weighted_sum(op: Ops, a: ir.Value, weights: ir.Value, known: Features) -> ir.Value:
    """relu(Σₖ wₖAₖ) of features [N,C,h,w] and weights [N,C], as [N,h,w]; one N may be 1."""
    total = op.Relu(op.MatMul(op.Unsqueeze(weights, [1]), op.Reshape(a, [0, 0, -1])))
    # The first dimension is that of the weights: one image may have weights for several classes.
    if known.size is None:
        return op.Reshape(total, op.Concat([-1], op.Slice(op.Shape(a), [2], [4]), axis=0))
    return op.Reshape(total, [-1, *known.size])
