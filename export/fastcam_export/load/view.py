"""The graph of a loaded model, or one line that says why it cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import onnx
import onnx_ir as ir
from fastcam_runtime.errors import first_line
from fastcam_runtime.text import shown

from ..errors import LoadError
from .loaded_model import LoadedModel
from .messages import messages, texts


def view(source: LoadedModel) -> ir.Model:
    """The graph of a source. It shares the weights and leaves out the metadata.

    Raises:
        LoadError: The graph holds something that onnx_ir does not support.
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


def refuse_unseen(source: LoadedModel) -> None:
    """Refuse what onnx_ir would drop silently, or could read but not write.

    Raises:
        LoadError: The model has sparse initializers, a name that is not UTF-8, or a node for a device that
            it does not describe.
    """
    devices = {device.name for device in getattr(source.proto, "configuration", ())}  # since onnx 1.18
    for message in _graph_messages(source.proto):
        if isinstance(message, onnx.GraphProto) and message.sparse_initializer:
            weight = message.sparse_initializer[0].values.name
            raise LoadError(
                f"{source.name}: its sparse initializer {shown(weight)} cannot be read: make it dense"
            )
        if message.DESCRIPTOR.name == "NodeDeviceConfigurationProto":
            if not message.configuration_id or message.configuration_id not in devices:
                name = shown(message.configuration_id)
                raise LoadError(f"{source.name}: a node is for the device {name}, which it does not describe")
            if any(not spec.tensor_name for spec in message.sharding_spec):
                raise LoadError(f"{source.name}: a node splits a tensor without a name among devices")
        for text in texts(message):
            if isinstance(text, bytes):
                raise LoadError(
                    f"{source.name}: the text {text[:40]!r} in it cannot be read: it is not UTF-8"
                )


def _graph_messages(proto: onnx.ModelProto) -> Iterator[Any]:
    """All messages but the metadata, which is copied unread and so need not be UTF-8."""
    yield proto
    for part in (*proto.opset_import, proto.graph, *proto.functions):
        yield from messages(part)


def _reason(error: BaseException) -> str:
    """The first sentence of the innermost error: onnx_ir wraps it once per level of the graph."""
    while error.__cause__ is not None:
        error = error.__cause__
    return first_line(error).partition(". ")[0]


def _free_negative_dimensions(graph: ir.Graph) -> None:
    """Make the dimensions free that some exporters write as −1."""
    for value in chain(graph.inputs, (output for node in graph for output in node.outputs)):
        if value.shape is not None and any(isinstance(d, int) and d < 0 for d in value.shape):
            value.shape = ir.Shape(None if isinstance(d, int) and d < 0 else d for d in value.shape)
