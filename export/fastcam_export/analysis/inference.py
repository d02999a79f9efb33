"""ONNX's shape inference, over a graph without its large weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import onnx
import onnx_ir as ir
from fastcam_runtime.model.watching import LastResort

from ..errors import LoadError

SMALL = 1024
"""Inference sees the values of initializers up to this many elements: they may hold a shape."""
_MOST_BYTES = 1 << 30
"""Memory for one inference: 100,000 nodes take a tenth of it."""


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
        with _bounded_memory():
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return {}
    except MemoryError as error:
        raise LoadError("its shapes take too much memory: it has a list of far too many numbers") from error
    tensors = (info for info in inferred.graph.value_info if info.type.HasField("tensor_type"))
    return {info.name: ir.from_proto(info) for info in tensors}


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """Raise MemoryError in this block beyond `_MOST_BYTES`, in the command line.

    Inference writes out any list of integers whose length it knows, and that may be 2^62. A program is left
    alone: its other threads would be bounded too.
    """
    pages = Path("/proc/self/statm")
    if LastResort.end is None or not pages.exists():
        yield
        return
    import resource  # not on Windows

    before = resource.getrlimit(resource.RLIMIT_AS)
    most = int(pages.read_text().split()[0]) * resource.getpagesize() + _MOST_BYTES
    limits = [most, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _with_shape(value: ir.Value, dims: Sequence[int | None]) -> onnx.ValueInfoProto:
    assert value.dtype is not None
    return onnx.helper.make_tensor_value_info(value.name or "", value.dtype.value, dims)
