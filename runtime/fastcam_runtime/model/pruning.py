"""Prune saliency outputs, and the grafted nodes that only they need, from a grafted file.

onnxruntime runs every node of a file, even for outputs that are not requested. So a frame without a map, or a
view with one map of five, is cheap only in a file without the other maps.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..contract import (
    CAM,
    CHOICE_INPUTS,
    FASTCAM,
    LOVI,
    MAP,
    MAP_BYTES,
    MAP_RGBA,
    NONCLASS,
    SCALE_PREFIX,
)
from ..errors import ModelError
from .file import (
    GRAPH_INITIALIZER,
    GRAPH_INPUT,
    GRAPH_NODE,
    GRAPH_OUTPUT,
    MODEL_GRAPH,
    TENSOR_NAME,
    VALUE_NAME,
    from_file,
)
from .nodes import Node
from .protobuf import BYTES, Field, field_header, fields, text_of

_GRAPH_VALUE_INFO = 13
"""A field number of onnx.proto."""


def is_saliency_output(name: str) -> bool:
    """Whether this is the name of a saliency output in a grafted file."""
    scale = name.removeprefix(SCALE_PREFIX)
    return name in (MAP, MAP_BYTES, MAP_RGBA, LOVI, CAM, FASTCAM, NONCLASS) or (
        scale != name and scale.isdigit()
    )


def cut(model: bytes | memoryview, keep: Collection[str] = ()) -> bytes:
    """The same model with only the saliency outputs in `keep`.

    The network's own nodes, inputs, outputs, weights and all metadata are kept byte for byte; grafted nodes
    (by their name's prefix) stay if a kept output needs them. An added input goes if no node reads it.

    Raises:
        ModelError: These are not the bytes of an ONNX model.
    """
    parts: list[memoryview | bytes] = []
    graphs = 0
    for field in fields(memoryview(model)):
        if field.number == MODEL_GRAPH and field.wire == BYTES:
            graphs += 1
            graph = _cut_graph(field.value, frozenset(keep))
            parts += [field_header(MODEL_GRAPH, sum(map(len, graph))), *graph]
        else:
            parts.append(field.whole)
    if graphs != 1:
        raise ModelError(f"not an ONNX model, or damaged: it holds {graphs or 'no'} graphs")
    return b"".join(parts)


def cut_file(path: Path, keep: Collection[str] = ()) -> bytes:
    """`cut` for a file; errors name the file."""
    return from_file(path, lambda model: cut(model, keep))


def _cut_graph(graph: memoryview, keep: frozenset[str]) -> list[memoryview]:
    """The remaining fields of the graph, in order."""
    parts = list(fields(graph))
    nodes = {i: Node.read(part.value) for i, part in enumerate(parts) if part.number == GRAPH_NODE}
    outputs = {text_of(part.value, VALUE_NAME) for part in parts if part.number == GRAPH_OUTPUT}
    dropped = {name for name in outputs if is_saliency_output(name) and name not in keep}
    needed = _needed(list(nodes.values()), outputs - dropped)
    gone = {i for i, node in nodes.items() if node.grafted and needed.isdisjoint(node.outputs)}
    # Only inputs of dropped nodes can have become unused; everything else belongs to the network.
    touched = set(CHOICE_INPUTS).union(*({*nodes[i].reads, *nodes[i].outputs} for i in gone))
    useless = touched - (outputs - dropped).union(*(n.reads for i, n in nodes.items() if i not in gone))

    def stays(index: int, part: Field) -> bool:
        if part.number == GRAPH_NODE:
            return index not in gone
        if part.number == GRAPH_OUTPUT:
            return text_of(part.value, VALUE_NAME) not in dropped
        if part.number == GRAPH_INITIALIZER:
            return text_of(part.value, TENSOR_NAME) not in useless
        if part.number == _GRAPH_VALUE_INFO:
            return text_of(part.value, VALUE_NAME) not in useless
        if part.number == GRAPH_INPUT:
            return text_of(part.value, VALUE_NAME) not in useless.intersection(CHOICE_INPUTS)
        return True

    return [part.whole for index, part in enumerate(parts) if stays(index, part)]


def _needed(nodes: list[Node], outputs: set[str]) -> set[str]:
    """The values that the kept outputs and the network's own nodes need, walking backwards."""
    producer = {output: node for node in nodes for output in node.outputs}
    waiting = outputs.union(*(node.reads for node in nodes if not node.grafted))
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        needed.add(name)
        if name in producer:
            waiting |= producer[name].reads - needed
    return needed
