"""Cut saliency outputs, and the grafted nodes that only they need, out of a grafted file.

onnxruntime runs every node of a file whatever outputs are asked for, so a frame that needs no map, or a
view that needs one map of five, is only cheap in a file without the rest. A device has no onnx package: this
walks the protobuf wire format (https://protobuf.dev/programming-guides/encoding/) and copies what is kept
byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .contract import CAM, CLASS_INPUT, FASTCAM, LOVI, MAP, NODE_PREFIX, NONCLASS, SCALE_PREFIX
from .errors import ModelError

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE_INFO = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_ATTRIBUTE = 1, 2, 3, 5
_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 6, 11
_TENSOR_NAME = 8
_VALUE_NAME = 1

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def is_saliency_output(name: str) -> bool:
    """Whether the contract names an output of a grafted file so."""
    scale = name.removeprefix(SCALE_PREFIX)
    return name in (MAP, LOVI, CAM, FASTCAM, NONCLASS) or (scale != name and scale.isdigit())


def cut(model: bytes, keep: Collection[str] = ()) -> bytes:
    """The same model with only the saliency outputs in `keep`.

    The network's own nodes, inputs, outputs, weights and all metadata are kept byte for byte; grafted nodes
    (by their name's prefix) stay if a kept output needs them. The input `saliency_class` goes when nothing
    reads it.

    Raises:
        ModelError: These are not the bytes of an ONNX model.
    """
    data = memoryview(model)
    parts: list[memoryview | bytes] = []
    graphs = 0
    for field in _fields(data):
        if field.number == _MODEL_GRAPH and field.wire == _BYTES:
            graphs += 1
            graph = _cut_graph(field.value, frozenset(keep))
            size = sum(map(len, graph))
            parts += [_varint(_MODEL_GRAPH << 3 | _BYTES), _varint(size), *graph]
        else:
            parts.append(field.whole)
    if graphs != 1:
        raise ModelError(f"not an ONNX model, or damaged: it holds {graphs or 'no'} graphs")
    return b"".join(parts)


@dataclass(frozen=True)
class _Field:
    number: int
    wire: int
    value: memoryview
    """The content of a length-delimited field; of any other, its bytes."""
    whole: memoryview
    """The field with its key."""


@dataclass(frozen=True)
class _Node:
    name: str
    inputs: frozenset[str]
    """What it reads, in the bodies of its subgraphs too."""
    outputs: tuple[str, ...]

    @classmethod
    def read(cls, data: memoryview) -> _Node:
        name, inputs, outputs = "", set[str](), list[str]()
        for field in _fields(data):
            if field.number == _NODE_INPUT:
                inputs.add(_text(field))
            elif field.number == _NODE_OUTPUT:
                outputs.append(_text(field))
            elif field.number == _NODE_NAME:
                name = _text(field)
            elif field.number == _NODE_ATTRIBUTE:
                inputs |= _read_by_subgraphs(field.value)
        return cls(name, frozenset(inputs), tuple(outputs))


def _read_by_subgraphs(attribute: memoryview) -> set[str]:
    """Every name that the bodies in an attribute read: a superset of what they take from outside."""
    names: set[str] = set()
    for field in _fields(attribute):
        if field.number not in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS) or field.wire != _BYTES:
            continue
        for part in _fields(field.value):
            if part.number == _GRAPH_NODE:
                names |= _Node.read(part.value).inputs
            elif part.number == _GRAPH_OUTPUT:
                names.add(_name(part.value, _VALUE_NAME))
    return names


def _cut_graph(graph: memoryview, keep: frozenset[str]) -> list[memoryview]:
    """The fields of the graph that stay, in their order."""
    fields = list(_fields(graph))
    nodes = {i: _Node.read(f.value) for i, f in enumerate(fields) if f.number == _GRAPH_NODE}
    outputs = {_name(f.value, _VALUE_NAME) for f in fields if f.number == _GRAPH_OUTPUT}
    dropped_outputs = {name for name in outputs if is_saliency_output(name) and name not in keep}
    needed = _needed(list(nodes.values()), outputs - dropped_outputs)
    gone = {i for i, n in nodes.items() if n.name.startswith(NODE_PREFIX) and needed.isdisjoint(n.outputs)}
    read = (outputs - dropped_outputs).union(*(n.inputs for i, n in nodes.items() if i not in gone))
    # Only what a dropped node touched can have become useless: everything else is the network's own business.
    touched = dropped_outputs.union(*(nodes[i].inputs | set(nodes[i].outputs) for i in gone), {CLASS_INPUT})
    useless = touched - read

    def stays(index: int, field: _Field) -> bool:
        if field.number == _GRAPH_NODE:
            return index not in gone
        if field.number == _GRAPH_INITIALIZER:
            return _name(field.value, _TENSOR_NAME) not in useless
        if field.number == _GRAPH_OUTPUT:
            return _name(field.value, _VALUE_NAME) not in dropped_outputs
        if field.number == _GRAPH_VALUE_INFO:
            return _name(field.value, _VALUE_NAME) not in useless
        if field.number == _GRAPH_INPUT:
            name = _name(field.value, _VALUE_NAME)
            return name != CLASS_INPUT or name not in useless
        return True

    return [field.whole for index, field in enumerate(fields) if stays(index, field)]


def _needed(nodes: list[_Node], outputs: set[str]) -> set[str]:
    """The values that the kept outputs and the network's own nodes need, walking backwards."""
    producer = {output: node for node in nodes for output in node.outputs if output}
    needed = set(outputs)
    waiting = list(outputs)
    for node in nodes:
        if not node.name.startswith(NODE_PREFIX):
            waiting += node.inputs
    while waiting:
        name = waiting.pop()
        needed.add(name)
        node_of = producer.get(name)
        if node_of is not None:
            waiting += [value for value in node_of.inputs if value not in needed]
    return needed


def _fields(data: memoryview) -> Iterator[_Field]:
    """The fields of one message."""
    at = 0
    while at < len(data):
        start = at
        key, at = _read_varint(data, at)
        number, wire = key >> 3, key & 7
        value = at
        if wire == _VARINT:
            _, at = _read_varint(data, at)
        elif wire == _BYTES:
            size, value = _read_varint(data, at)
            at = value + size
        elif wire in (_FIXED64, _FIXED32):
            at += 8 if wire == _FIXED64 else 4
        else:
            raise ModelError(f"not an ONNX model, or damaged: wire type {wire} in its protobuf")
        if at > len(data) or number == 0:
            raise ModelError("not an ONNX model, or cut short")
        yield _Field(number, wire, data[value:at], data[start:at])


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """A base-128 number and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ModelError("not an ONNX model, or cut short")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _name(message: memoryview, number: int) -> str:
    """The text in field `number` of a message; empty if it has none."""
    for field in _fields(message):
        if field.number == number:
            return _text(field)
    return ""


def _text(field: _Field) -> str:
    if field.wire != _BYTES:
        raise ModelError("not an ONNX model, or damaged: a name is not text")
    return str(field.value, "utf-8", "surrogateescape")
