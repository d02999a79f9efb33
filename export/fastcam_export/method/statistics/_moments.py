"""Mean, maximum and population standard deviation of a pixel's channels."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from ...authoring.ops import Ops, Step, make_function


def mean(*, opset: int, nonnegative: bool, **_: object) -> Step:
    """The mean over the channels."""
    return _plain("ChannelMean", "ReduceMean", opset, nonnegative)


def maximum(*, opset: int, nonnegative: bool, **_: object) -> Step:
    """The largest channel."""
    return _plain("ChannelMax", "ReduceMax", opset, nonnegative)


def std(*, opset: int, nonnegative: bool, **_: object) -> Step:
    """The population standard deviation; 0 for a single channel."""

    def body(op: Ops, x: ir.Value) -> ir.Value:
        _, variance = mean_and_variance(op, x)
        return op.Squeeze(op.Sqrt(variance), [1])

    return rectified_step(
        "ChannelStd", opset, nonnegative, body, "Population standard deviation of the channels."
    )


def mean_and_variance(op: Ops, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Mean and population variance over the channels, [N,1,H,W] each; two passes avoid cancellation."""
    m = op.reduce("ReduceMean", x, [1])
    difference = op.Sub(x, m)
    return m, op.reduce("ReduceMean", op.Mul(difference, difference), [1])


def rectified_step(
    name: str,
    opset: int,
    nonnegative: bool,
    body: Callable[[Ops, ir.Value], ir.Value],
    doc: str,
    epsilon: float | None = None,
) -> Step:
    """A step of max(x, 0), without the ReLU if x is `nonnegative`; with `epsilon`, of max(x, 0) + ε."""

    def rectified(op: Ops, x: ir.Value) -> ir.Value:
        x = x if nonnegative else op.Relu(x)
        return body(op, x if epsilon is None else op.Add(x, op.attribute("epsilon")))

    attributes = {} if epsilon is None else {"epsilon": epsilon}
    name = name if nonnegative else f"{name}Relu"
    function = make_function(name, opset, ["X"], rectified, output="S", attributes=list(attributes), doc=doc)
    return Step(function, attributes=attributes)


def _plain(name: str, reduction: str, opset: int, nonnegative: bool) -> Step:
    def body(op: Ops, x: ir.Value) -> ir.Value:
        return op.reduce(reduction, x, [1], keepdims=False)

    return rectified_step(name, opset, nonnegative, body, f"{reduction} over the channels.")
