"""From a tap to the float32 tensor that a statistic reads, without slowing down the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from ..analysis.ends import TO_NCHW
from ..analysis.operators import facts
from ..analysis.patterns import gated_input
from ..analysis.taps import Tap
from ..analysis.values import constant_behind
from ..errors import GraftError
from .branch import Branch

KERNEL_TYPES = (np.uint8, np.int8)
"""The integers that the compiled kernel for quantised activations reads."""


def read_tap(branch: Branch, value: ir.Value, layout: str, where: str) -> ir.Value:
    """The tensor of a tap as float32 N×C×H×W; `layout` is its own."""
    return channels_first(branch, float_activation(branch, value, where), layout, where)


def read_activated(branch: Branch, tap: Tap, where: str) -> ir.Value:
    """The tensor of a tap as float32 N×C×H×W, for a statistic.

    A dequantised tensor passes through a ReLU, here a no-op: without it, onnxruntime would move the
    DequantizeLinear behind the operators that follow, and so duplicate it.
    """
    value = float_activation(branch, tap.value, where)
    if dequantizer(tap.value) is not None and tap.nonnegative:
        value = branch.node("Relu", value, name=f"{where}/activated")
    return channels_first(branch, value, tap.layout, where)


def quantized_tap(tap: Tap) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    """The integers of a tap with their scale and zero point, if the compiled kernel can read them, else None.

    It reads uint8 or int8 in N×C×H×W with one scale and one zero point, both constant.
    """
    node = dequantizer(tap.value)
    if node is None or tap.layout != "NCHW" or tap.first is not None or len(node.inputs) != 3:
        return None
    integers, scale, zero_point = node.inputs
    if integers is None or scale is None or zero_point is None:
        return None
    scales, zeros = constant_behind(scale), constant_behind(zero_point)
    if scales is None or zeros is None or scales.size != 1 or zeros.size != 1:
        return None
    fits = scales.dtype == np.float32 and float(scales.ravel()[0]) > 0 and zeros.dtype in KERNEL_TYPES
    return (integers, scale, zero_point) if fits else None


def channels_first(branch: Branch, value: ir.Value, layout: str, where: str) -> ir.Value:
    """A tensor with this layout as N×C×H×W."""
    if layout == "NCHW":
        return value
    return branch.node("Transpose", value, name=f"{where}/channels_first", perm=TO_NCHW)


def float_activation(branch: Branch, value: ir.Value, where: str) -> ir.Value:
    """The tapped tensor as float32; the nodes are named after `where`."""
    names = {"DequantizeLinear": "dequantized", "LeakyRelu": "half", "Cast": "float"}

    def record(op_type: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        return branch.node(op_type, *inputs, name=f"{where}/{names[op_type]}", **attributes)

    return read_activation(record, value, dequantizer(value))


def read_activation(record: Callable[..., ir.Value], value: ir.Value, quantized: ir.Node | None) -> ir.Value:
    """A tensor of the network as float32, read in a way that keeps onnxruntime's fusions around it.

    A quantised tensor, which the node `quantized` computes, gets its own DequantizeLinear: with a second
    reader, the network's could not be fused into the integer operators around it. A half-precision tensor
    passes through a no-op (LeakyRelu with slope 1): onnxruntime computes half-precision networks on CPUs in
    float32, and a Cast directly at the tap would make it round the network there too.

    `record("Cast", x, to=1)` adds a node to a graph.
    """
    dtype = value.dtype
    if quantized is not None:
        scale = quantized.inputs[1]
        dtype = dtype or (scale.dtype if scale is not None else None)
        attributes = {name: attribute.value for name, attribute in quantized.attributes.items()}
        value = record("DequantizeLinear", *quantized.inputs, **attributes)
    elif dtype == ir.DataType.FLOAT16:
        value = record("LeakyRelu", value, alpha=1.0)
    return value if dtype == ir.DataType.FLOAT else record("Cast", value, to=ir.DataType.FLOAT.value)


def dequantizer(value: ir.Value) -> ir.Node | None:
    """The DequantizeLinear that computes `value`, else None."""
    producer = value.producer()
    return producer if producer is not None and producer.op_type == "DequantizeLinear" else None


def pre_activation(branch: Branch, tap: Tap, where: str) -> ir.Value:
    """The tensor before the tap's activation, as float32 N×C×H×W.

    Raises:
        GraftError: The tap is not the result of an activation, or of a concatenation of activations.
    """
    return channels_first(branch, _before(branch, tap.value, tap.name, where), tap.layout, where)


def _before(branch: Branch, value: ir.Value, tap: str, where: str) -> ir.Value:
    node = value.producer()
    if node is not None and facts(node.op_type).activation and node.inputs[0] is not None:
        return float_activation(branch, node.inputs[0], where)
    if node is not None and (source := gated_input(node, _is_activated)) is not None:
        return float_activation(branch, source, where)
    if node is not None and node.op_type == "Concat":
        parts = [
            _before(branch, part, tap, f"{where}/part_{i}")
            for i, part in enumerate(node.inputs, start=1)
            if part is not None
        ]
        return branch.node("Concat", *parts, name=f"{where}/before", axis=node.attributes.get_int("axis", 1))
    if node is not None and node.op_type == "Transpose" and node.inputs[0] is not None:
        part = _before(branch, node.inputs[0], tap, f"{where}/turned")
        return branch.node("Transpose", part, name=f"{where}/before", perm=node.attributes.get_ints("perm"))
    operator = node.op_type if node is not None else "input"
    raise GraftError(
        f"'{tap}' has no tensor before its activation: '{value.name}' comes from {operator}; "
        "the truncated-normal statistics need taps that are results of a ReLU or a similar activation"
    )


def _is_activated(value: ir.Value) -> bool:
    node = value.producer()
    return node is not None and facts(node.op_type).activation
