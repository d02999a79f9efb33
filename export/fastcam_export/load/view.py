"""A loaded model as a graph, or one line that says why it cannot be seen as one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import onnx
import onnx_ir as ir
from fastcam_runtime.errors import first_line

from ..errors import LoadError
from .messages import messages, texts
from .source import Source


def view(source: Source) -> ir.Model:
    """The graph of a source; its weights are shared, not copied, and its metadata is left out.

    Raises:
        LoadError: The graph holds something that onnx_ir does not know.
    """
    try:
        model: ir.Model = ir.from_proto(source.proto)
    except ir.serde.SerdeError as error:
        raise LoadError(f"{source.name}: its graph cannot be read: {_reason(error)}") from error
    if source.path is not None:
        ir.external_data.set_base_dir(model.graph, source.path.parent)
    model.metadata_props.clear()  # no part of the graph, and perhaps not UTF-8
    _free_negative_dimensions(model.graph)
    return model


def refuse_unseen(source: Source) -> None:
    """Refuse what onnx_ir would drop in silence, or read but never write again.

    Raises:
        LoadError: The model has sparse initializers, or a name that is not UTF-8.
    """
    for message in _graph_messages(source.proto):
        if isinstance(message, onnx.GraphProto) and message.sparse_initializer:
            weight = message.sparse_initializer[0].values.name
            raise LoadError(f"{source.name}: its sparse initializer '{weight}' cannot be read: make it dense")
        for text in texts(message):
            if isinstance(text, bytes):
                raise LoadError(
                    f"{source.name}: the text {text[:40]!r} in it cannot be read: it is not UTF-8"
                )


def _graph_messages(proto: onnx.ModelProto) -> Iterator[Any]:
    """All but the model's metadata: that is copied as it is, and a note in Latin-1 does no harm there."""
    yield proto
    for part in (*proto.opset_import, proto.graph, *proto.functions):
        yield from messages(part)


def _reason(error: BaseException) -> str:
    """The first sentence of what onnx_ir stumbled over: it wraps that in one error per level of the graph."""
    while error.__cause__ is not None:
        error = error.__cause__
    return first_line(error).partition(". ")[0]


def _free_negative_dimensions(graph: ir.Graph) -> None:
    """Some exporters write a free dimension as −1; from here on it is one like any other."""
    for value in chain(graph.inputs, (output for node in graph for output in node.outputs)):
        if value.shape is not None and any(isinstance(d, int) and d < 0 for d in value.shape):
            value.shape = ir.Shape(None if isinstance(d, int) and d < 0 else d for d in value.shape)
