"""The shapes and types of the head's values, free dimensions left free."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx_ir as ir

from ..graph.dominators import inputs_of
from .head import Head

SMALL = 1024
"""Initializers up to this many elements may hold a shape, so inference sees their values."""


def infer_head(graph: ir.Graph, head: Head, tap_shape: Sequence[int | None]) -> None:
    """Set the shapes and types that the values between tap and logits, and their weights, lack.

    Args:
        graph: The model's graph; only shapes and types of its values change.
        head: What lies between the tap and the logits.
        tap_shape: The tap's shape where inference does not get that far, None for free dimensions.
    """
    values = head.path.union(*(inputs_of(node) for node in head.nodes))
    if all(value.shape is not None and value.dtype is not None for value in values):
        return
    nodes = _ancestors(graph, head.logits)
    _fill(graph, nodes, [])
    if any(value.shape is None for value in head.path):
        for value in head.twins:
            value.shape = value.shape or ir.Shape(tap_shape)
        _fill(graph, nodes, [value for value in head.twins if value.dtype is not None])


def _ancestors(graph: ir.Graph, value: ir.Value) -> list[ir.Node]:
    """The nodes that `value` follows from, in topological order."""
    needed, nodes = {value}, []
    for node in reversed(graph):
        if not needed.isdisjoint(node.outputs):
            needed.update(inputs_of(node))
            nodes.append(node)
    return nodes[::-1]


def _fill(graph: ir.Graph, nodes: Sequence[ir.Node], declared: Sequence[ir.Value]) -> None:
    """Infer over `nodes` without their weights, and enter what was found in the values that lack it."""
    proto = onnx.GraphProto(name="head")
    proto.node.extend(ir.to_proto(node) for node in nodes)
    proto.input.extend(ir.to_proto(value) for value in graph.inputs if value.name not in graph.initializers)
    proto.value_info.extend(ir.to_proto(value) for value in declared)
    for name, value in graph.initializers.items():
        tensor = value.const_value
        if tensor is not None and tensor.size <= SMALL:
            proto.initializer.append(ir.to_proto(tensor))
        elif tensor is not None:
            dims = [int(d) for d in tensor.shape.numpy()]
            proto.input.append(onnx.helper.make_tensor_value_info(name, tensor.dtype.value, dims))
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in graph.opset_imports.items()]
    model = onnx.helper.make_model(proto, opset_imports=opsets)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return  # the rules say what they miss
    found = {info.name: ir.from_proto(info) for info in inferred.graph.value_info}
    for value in (value for node in nodes for value in node.outputs):
        known = found.get(value.name or "")
        if known is not None:
            value.shape = value.shape or known.shape
            value.dtype = value.dtype or known.dtype
