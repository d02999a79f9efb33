"""Grad-CAM and Grad-CAM++ as functions of the graph, and what comes before and after them."""

from __future__ import annotations

from types import MappingProxyType

import onnx_ir as ir

from ..authoring import Ops, Step, make_function

LEAST_DENOMINATOR = 1e-6
"""2 + ΣA·g is rounded by more than this near 0, which it only comes to where the tap is negative."""

ROUNDING = 1e-6
"""A map that varies by less, relative to its largest value, is constant: upsampling rounds that much."""


def select_class(opset: int) -> Step:
    """From `saliency_class` [N] or [1] and the scores N×classes(×1×1) to the class of each image, int64 [N].

    A negative number asks for the class with the highest score, a number beyond the last class gives
    the last one.
    """

    def body(op: Ops, wanted: ir.Value, scores: ir.Value) -> ir.Value:
        flat = op.Flatten(scores, axis=1)
        highest = op.ArgMax(flat, axis=1, keepdims=0)
        last = op.Sub(op.Slice(op.Shape(flat), [1], [2]), 1)
        return op.Where(op.Less(wanted, 0), highest, op.Min(wanted, last))

    doc = "The wanted class, or the one with the highest score where −1 is wanted."
    return Step(make_function("SelectClass", opset, ["wanted", "scores"], body, output="class", doc=doc))


def gradcam(opset: int) -> Step:
    """relu(Σₖ wₖAₖ) with wₖ the mean of g, from the tap A and its gradient g, float32 [N,C,h,w]."""

    def body(op: Ops, a: ir.Value, g: ir.Value) -> ir.Value:
        return weighted_sum(op, a, op.reduce("ReduceMean", g, [2, 3]))

    doc = "Grad-CAM of the features A and the gradient g of a class score; up to a factor per image."
    return Step(make_function("GradCam", opset, ["A", "g"], body, output="cam", doc=doc))


def gradcam_plus_plus(opset: int, epsilon: float) -> Step:
    """relu(Σₖ wₖAₖ) with w = Σ α·relu(g), α = g²/(2g² + ΣA·g³ + ε), from the tap A and its gradient g."""

    def body(op: Ops, a: ir.Value, g: ir.Value) -> ir.Value:
        total = op.reduce("ReduceSum", a, [2, 3])
        return weighted_sum(
            op, a, op.reduce("ReduceSum", alpha_relu(op, g, total, op.attribute("epsilon")), [2, 3])
        )

    doc = "Grad-CAM++ of the features A and the gradient g of a class score; up to a factor per image."
    function = make_function(
        "GradCamPlusPlus", opset, ["A", "g"], body, output="cam", attributes=["epsilon"], doc=doc
    )
    return Step(function, attributes=MappingProxyType({"epsilon": epsilon}))


def alpha_relu(op: Ops, g: ir.Value, total: ir.Value, epsilon: ir.Value) -> ir.Value:
    """α·relu(g), written g/(2 + ΣA·g + ε/g²) for g > 0: no power of g overflows, none vanishes.

    0 where g ≤ 0. A denominator within float32's rounding of 0 counts as `LEAST_DENOMINATOR`.
    """
    denominator = op.Add(op.Add(op.Mul(total, g), 2.0), op.Div(op.Div(epsilon, g), g))
    denominator = op.Where(op.Less(op.Abs(denominator), LEAST_DENOMINATOR), LEAST_DENOMINATOR, denominator)
    return op.Where(op.Greater(g, 0.0), op.Div(g, denominator), 0.0)


def class_channel(opset: int) -> Step:
    """From features [N,C,h,w] and a class index [N] to the channel of that number, [N,1,h,w]."""

    def body(op: Ops, a: ir.Value, index: ir.Value) -> ir.Value:
        return op.Unsqueeze(op.GatherND(a, op.Unsqueeze(index, [1]), batch_dims=1), [1])

    doc = "The channel of the selected class, where every class has one of its own."
    return Step(make_function("ClassChannel", opset, ["A", "class"], body, output="channel", doc=doc))


def weighted_sum(op: Ops, a: ir.Value, weights: ir.Value) -> ir.Value:
    """relu(Σₖ wₖAₖ) of features [N,C,h,w] and weights [N,C] or [N,C,1,1], as [N,h,w].

    The weights are divided by the largest of the image: min–max undoes any factor, and so no sum of
    very large or very small terms leaves float32.
    """
    row = op.Reshape(weights, [0, 1, -1])
    largest = op.Max(op.reduce("ReduceMax", op.Abs(row), [2]), 1e-37)
    total = op.MatMul(op.Div(row, largest), op.Reshape(a, [0, 0, -1]))
    return op.Relu(op.Reshape(total, op.Gather(op.Shape(a), [0, 2, 3])))


def minmax(opset: int) -> Step:
    """Min–max of a map [N,H,W], per image: 0…1, and 0 everywhere for a constant map."""

    def body(op: Ops, cam: ir.Value) -> ir.Value:
        least = op.reduce("ReduceMin", cam, [1, 2])
        most = op.reduce("ReduceMax", cam, [1, 2])
        span = op.Sub(most, least)
        rounding = op.Mul(op.Max(op.Abs(most), op.Abs(least)), ROUNDING)
        scaled = op.Div(op.Sub(cam, least), op.Max(span, 1e-37))
        return op.Where(op.Greater(span, rounding), scaled, 0.0)

    doc = "(cam − min)/(max − min) per image; 0 where the map is constant."
    return Step(make_function("MinMax", opset, ["cam"], body, output="normalised", doc=doc))
