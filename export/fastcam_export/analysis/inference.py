"""ONNX's shape inference, over a graph without its large weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx
import onnx_ir as ir

SMALL = 1024
"""Inference sees the values of initializers up to this many elements: they may hold a shape."""


def infer(
    graph: ir.Graph, nodes: Iterable[ir.Node], known: Mapping[ir.Value, Sequence[int | None]]
) -> dict[str, ir.Value]:
    """Types and shapes of the tensors that `nodes` compute, where they can be inferred, by name.

    `nodes` are all that the wanted tensors depend on, in topological order. The shapes in `known` override
    what is declared or inferred.
    """
    proto = onnx.GraphProto(name="skeleton")
    proto.node.extend(ir.to_proto(node) for node in nodes)
    for value in graph.inputs:
        if value.name not in graph.initializers:
            proto.input.append(_with_shape(value, known[value]) if value in known else ir.to_proto(value))
    for name, value in graph.initializers.items():
        tensor = value.const_value
        if tensor is not None and tensor.size <= SMALL:
            proto.initializer.append(ir.to_proto(tensor))
        elif tensor is not None:
            dims = [int(d) for d in tensor.shape.numpy()]
            proto.input.append(onnx.helper.make_tensor_value_info(name, tensor.dtype.value, dims))
    computed = (value for value in known if value.producer() is not None and value.dtype is not None)
    proto.value_info.extend(_with_shape(value, known[value]) for value in computed)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in graph.opset_imports.items()]
    model = onnx.helper.make_model(proto, opset_imports=opsets)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return {}
    tensors = (info for info in inferred.graph.value_info if info.type.HasField("tensor_type"))
    return {info.name: ir.from_proto(info) for info in tensors}


def _with_shape(value: ir.Value, dims: Sequence[int | None]) -> onnx.ValueInfoProto:
    assert value.dtype is not None
    return onnx.helper.make_tensor_value_info(value.name or "", value.dtype.value, dims)
