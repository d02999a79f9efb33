"""Walk through the messages of a model's protobuf: strings and weights may be nested at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
from fastcam_runtime.limits import MAX_MESSAGES

from ..errors import LoadError


def messages(root: Any) -> Iterator[Any]:
    """`root` and every message inside it, including those of subgraphs and functions."""
    yield root
    # Not `ListFields`, which would copy the bytes of every weight.
    for field in root.DESCRIPTOR.fields:
        if field.message_type is None:
            continue
        value = getattr(root, field.name)
        if hasattr(value, "extend"):
            for part in value:
                yield from messages(part)
        elif root.HasField(field.name):
            yield from messages(value)


def texts(message: Any) -> Iterator[str | bytes]:
    """The strings of one message, without those of nested messages; bytes where they are not UTF-8."""
    for field in message.DESCRIPTOR.fields:
        if field.type == field.TYPE_STRING:
            value = getattr(message, field.name)
            yield from [value] if isinstance(value, str | bytes) else value


def external_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors whose values are in external files.

    Raises:
        LoadError: The model has more parts than any network.
    """
    for number, message in enumerate(messages(proto)):
        if number > MAX_MESSAGES:
            raise LoadError(f"it has more than {MAX_MESSAGES} parts")
        if isinstance(message, onnx.TensorProto) and message.data_location == onnx.TensorProto.EXTERNAL:
            yield message


def reads(node: onnx.NodeProto) -> set[str]:
    """The names that a node reads, including those read in its subgraphs."""
    names = set(node.input)
    for attribute in node.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            names |= {output.name for output in graph.output}.union(*map(reads, graph.node))
    return names
