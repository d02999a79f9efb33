"""Cut saliency outputs, and the grafted nodes that only they need, out of a grafted file.

onnxruntime runs every node of a file whatever outputs are asked for, so a frame that needs no map, or a view
that needs one map of five, is only cheap in a file without the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .contract import CAM, CLASS_INPUT, DOMAIN, FASTCAM, LOVI, MAP, NODE_PREFIX, NONCLASS, SCALE_PREFIX
from .errors import ModelError, closest
from .protobuf import BYTES, Field, field_header, fields, text_of

# Field numbers of onnx.proto.
_MODEL_GRAPH, _MODEL_METADATA, _MODEL_FUNCTION = 7, 14, 25
_FUNCTION_NAME, _FUNCTION_DOMAIN = 1, 10
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE_INFO = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_ATTRIBUTE = 1, 2, 3, 5
_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 6, 11
_TENSOR_NAME, _TENSOR_EXTERNAL = 8, 13
_VALUE_NAME = 1
_ENTRY_KEY, _ENTRY_VALUE = 1, 2

_FIRST_BYTE = b"\x08"
"""Every model has an `ir_version`, and every writer puts it first."""

_T = TypeVar("_T")


def is_saliency_output(name: str) -> bool:
    """Whether the contract names an output of a grafted file so."""
    scale = name.removeprefix(SCALE_PREFIX)
    return name in (MAP, LOVI, CAM, FASTCAM, NONCLASS) or (scale != name and scale.isdigit())


@dataclass(frozen=True)
class Summary:
    """What an ONNX file says about itself, without a session."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    metadata: dict[str, str]
    functions: tuple[str, ...]
    """The names of the exporter's local functions."""
    weights: tuple[str, ...] = ()
    """The files beside it that have its weights, as it names them; none if it has them itself."""

    def missing_weights(self, path: Path) -> list[str]:
        """Those of the weights that are not beside the file at `path`."""
        return [name for name in self.weights if not (path.parent / name).exists()]


def is_ort(path: Path) -> bool:
    """Whether a file is in onnxruntime's own format, which nothing here can read or cut."""
    return path.suffix.lower() == ".ort"


def summarize(model: bytes) -> Summary:
    """What an ONNX file says about itself.

    Raises:
        ModelError: These are not the bytes of an ONNX model.
    """
    graph: list[Field] = []
    metadata: dict[str, str] = {}
    functions: list[str] = []
    for field in fields(memoryview(model)):
        if field.number == _MODEL_GRAPH and field.wire == BYTES:
            graph += fields(field.value)
        elif field.number == _MODEL_METADATA:
            metadata[text_of(field.value, _ENTRY_KEY)] = text_of(field.value, _ENTRY_VALUE)
        elif field.number == _MODEL_FUNCTION and text_of(field.value, _FUNCTION_DOMAIN) == DOMAIN:
            functions.append(text_of(field.value, _FUNCTION_NAME))
    if not graph:
        raise ModelError("not an ONNX model: it holds no graph")
    inputs, outputs = (
        tuple(text_of(field.value, _VALUE_NAME) for field in graph if field.number == number)
        for number in (_GRAPH_INPUT, _GRAPH_OUTPUT)
    )
    stored = (_stored_in(field.value) for field in graph if field.number == _GRAPH_INITIALIZER)
    weights = tuple(dict.fromkeys(filter(None, stored)))
    return Summary(inputs, outputs, metadata, tuple(functions), weights)


def _stored_in(tensor: memoryview) -> str:
    """The file beside the model that holds a tensor; empty if the model holds it itself."""
    entries = (field.value for field in fields(tensor) if field.number == _TENSOR_EXTERNAL)
    places = (text_of(entry, _ENTRY_VALUE) for entry in entries if text_of(entry, _ENTRY_KEY) == "location")
    return next(places, "")


def cut(model: bytes, keep: Collection[str] = ()) -> bytes:
    """The same model with only the saliency outputs in `keep`.

    The network's own nodes, inputs, outputs, weights and all metadata are kept byte for byte; grafted nodes
    (by their name's prefix) stay if a kept output needs them. The input `saliency_class` goes when nothing
    reads it.

    Raises:
        ModelError: These are not the bytes of an ONNX model.
    """
    parts: list[memoryview | bytes] = []
    graphs = 0
    for field in fields(memoryview(model)):
        if field.number == _MODEL_GRAPH and field.wire == BYTES:
            graphs += 1
            graph = _cut_graph(field.value, frozenset(keep))
            parts += [field_header(_MODEL_GRAPH, sum(map(len, graph))), *graph]
        else:
            parts.append(field.whole)
    if graphs != 1:
        raise ModelError(f"not an ONNX model, or damaged: it holds {graphs or 'no'} graphs")
    return b"".join(parts)


def cut_file(path: Path, keep: Collection[str] = ()) -> bytes:
    """`cut` for a file; what is wrong with it is told with its name."""
    return _from_file(path, lambda model: cut(model, keep))


def summarize_file(path: Path) -> Summary:
    """`summarize` for a file; what is wrong with it is told with its name."""
    return _from_file(path, summarize)


def read_model(path: Path) -> bytes:
    """The bytes of a model's file.

    Raises:
        ModelError: There is none, with the closest names in its folder; or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        near = closest(path.name, (file.name for file in path.parent.glob("*.onnx")))
        raise ModelError(f"no such file: {path}{near}") from None
    except IsADirectoryError:
        raise ModelError(f"{path} is a folder, not an .onnx file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


def _from_file(path: Path, read: Callable[[bytes], _T]) -> _T:
    model = read_model(path)
    try:
        return read(model)
    except ModelError as error:
        # A photo is not a damaged model, whatever its bytes happen to mean.
        what = error if model.startswith(_FIRST_BYTE) else "not an ONNX model"
        raise ModelError(f"{path}: {what}") from error


@dataclass(frozen=True)
class _Node:
    name: str
    inputs: frozenset[str]
    """What it reads, in the bodies of its subgraphs too."""
    outputs: frozenset[str]

    @property
    def grafted(self) -> bool:
        return self.name.startswith(NODE_PREFIX)

    @classmethod
    def read(cls, data: memoryview) -> _Node:
        name, inputs, outputs = "", set[str](), set[str]()
        for field in fields(data):
            if field.number == _NODE_INPUT:
                inputs.add(field.text)
            elif field.number == _NODE_OUTPUT:
                outputs.add(field.text)
            elif field.number == _NODE_NAME:
                name = field.text
            elif field.number == _NODE_ATTRIBUTE:
                inputs |= _read_by_subgraphs(field.value)
        return cls(name, frozenset(inputs - {""}), frozenset(outputs - {""}))


def _read_by_subgraphs(attribute: memoryview) -> set[str]:
    """Every name that the bodies in an attribute read: a superset of what they take from outside."""
    names: set[str] = set()
    for field in fields(attribute):
        if field.number not in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS) or field.wire != BYTES:
            continue
        for part in fields(field.value):
            if part.number == _GRAPH_NODE:
                names |= _Node.read(part.value).inputs
            elif part.number == _GRAPH_OUTPUT:
                names.add(text_of(part.value, _VALUE_NAME))
    return names


def _cut_graph(graph: memoryview, keep: frozenset[str]) -> list[memoryview]:
    """The fields of the graph that stay, in their order."""
    parts = list(fields(graph))
    nodes = {i: _Node.read(part.value) for i, part in enumerate(parts) if part.number == _GRAPH_NODE}
    outputs = {text_of(part.value, _VALUE_NAME) for part in parts if part.number == _GRAPH_OUTPUT}
    dropped = {name for name in outputs if is_saliency_output(name) and name not in keep}
    needed = _needed(list(nodes.values()), outputs - dropped)
    gone = {i for i, node in nodes.items() if node.grafted and needed.isdisjoint(node.outputs)}
    # Only what a dropped node touched can have become useless: all else is the network's own business.
    touched = {CLASS_INPUT}.union(*(nodes[i].inputs | nodes[i].outputs for i in gone))
    useless = touched - (outputs - dropped).union(*(n.inputs for i, n in nodes.items() if i not in gone))

    def stays(index: int, part: Field) -> bool:
        if part.number == _GRAPH_NODE:
            return index not in gone
        if part.number == _GRAPH_OUTPUT:
            return text_of(part.value, _VALUE_NAME) not in dropped
        if part.number == _GRAPH_INITIALIZER:
            return text_of(part.value, _TENSOR_NAME) not in useless
        if part.number == _GRAPH_VALUE_INFO:
            return text_of(part.value, _VALUE_NAME) not in useless
        if part.number == _GRAPH_INPUT:
            return not (text_of(part.value, _VALUE_NAME) == CLASS_INPUT and CLASS_INPUT in useless)
        return True

    return [part.whole for index, part in enumerate(parts) if stays(index, part)]


def _needed(nodes: list[_Node], outputs: set[str]) -> set[str]:
    """The values that the kept outputs and the network's own nodes need, walking backwards."""
    producer = {output: node for node in nodes for output in node.outputs}
    waiting = outputs.union(*(node.inputs for node in nodes if not node.grafted))
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        needed.add(name)
        if name in producer:
            waiting |= producer[name].inputs - needed
    return needed
