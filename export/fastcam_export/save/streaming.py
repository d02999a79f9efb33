"""Write a model's protobuf tensor by tensor.

protobuf serialises a message as a whole, through a second copy, and needs three times the file's size.
Nearly all of a model is weights. Writing them one by one needs the model once and the largest tensor twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from fastcam_runtime.model.protobuf import field_header

GRAPH = onnx.ModelProto.GRAPH_FIELD_NUMBER
INITIALIZER = onnx.GraphProto.INITIALIZER_FIELD_NUMBER


def write_model(proto: onnx.ModelProto, path: Path) -> None:
    """Write `proto` to `path`; reading the file gives an equal message."""
    model = _without(proto, "graph").SerializeToString()
    graph = _without(proto.graph, "initializer").SerializeToString()
    headers = [field_header(INITIALIZER, tensor.ByteSize()) for tensor in proto.graph.initializer]
    weights = sum(tensor.ByteSize() for tensor in proto.graph.initializer)
    with path.open("wb") as file:
        file.write(model)
        file.write(field_header(GRAPH, len(graph) + sum(map(len, headers)) + weights))
        file.write(graph)
        for header, tensor in zip(headers, proto.graph.initializer, strict=True):
            file.write(header)
            file.write(tensor.SerializeToString())


def _without(message: Any, left_out: str) -> Any:
    """A copy of a message without one of its fields."""
    copy = type(message)()
    for field, value in message.ListFields():
        if field.name == left_out:
            continue
        if isinstance(value, int | float | str | bytes):
            setattr(copy, field.name, value)
        elif hasattr(value, "extend"):
            getattr(copy, field.name).extend(value)
        else:
            getattr(copy, field.name).CopyFrom(value)
    return copy
