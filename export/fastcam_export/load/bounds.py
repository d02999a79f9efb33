"""Refuse a file that is damaged, or needs more than its size allows, before any other work."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import onnx
import onnx_ir as ir
from fastcam_runtime.limits import MAX_DEPTH, MAX_ELEMENTS, MAX_NODES
from fastcam_runtime.text import count, shown

from ..errors import LoadError
from .loaded_model import LoadedModel
from .upgrade import OLDEST_OPSET

_FunctionKey = tuple[str, str, str]

_STANDARD = ("", "ai.onnx")
_TYPED = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
_PAIRS = (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128)


def check_bounds(source: LoadedModel) -> LoadedModel:
    """The same source, if its nodes, functions and weights are complete and within the limits.

    Raises:
        LoadError: Names the part of the file and what is wrong with it.
    """
    try:
        _Bounds(source.proto).check()
    except LoadError as error:
        raise LoadError(f"{source.name}: {error}") from None
    return source


class _Bounds:
    """Counts the nodes of a model with its functions expanded, without expanding them."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        self._proto = proto
        self._functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
        self._sizes: dict[_FunctionKey, int] = {}
        """The number of nodes of each function; 0 while it is being counted."""

    def check(self) -> None:
        for opset in self._proto.opset_import:
            if abs(opset.version) > _LARGEST_VERSION:
                raise LoadError(f"it imports opset {opset.version}, which no domain has")
        for function in self._functions.values():
            _check_opsets(function.name, function.opset_import)
        for key in self._functions:
            self._size(key)
        nodes = self._count(self._proto.graph.node, 0, _standard(self._proto.opset_import))
        for tensor in self._proto.graph.initializer:
            _check_tensor(tensor)
        _check_count(nodes)

    def _size(self, key: _FunctionKey) -> int:
        """The number of nodes of an expanded function call."""
        if key not in self._sizes:
            self._sizes[key] = 0
            function = self._functions[key]
            self._sizes[key] = self._count(function.node, 0, _standard(function.opset_import))
            _check_names(function)
        elif not self._sizes[key]:
            raise LoadError(f"the function {shown(key[1])} calls itself")
        return self._sizes[key]

    def _count(self, nodes: Iterable[onnx.NodeProto], depth: int, opset: int) -> int:
        if depth > MAX_DEPTH:
            raise LoadError(f"its graphs are nested more than {MAX_DEPTH} deep")
        found = 1
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            found += self._size(key) if key in self._functions else 1
            for attribute in node.attribute:
                found += self._count_attribute(node, attribute, depth, opset)
            if node.domain in _STANDARD and key not in self._functions:
                _check_form(node, opset)
            if found > MAX_NODES:
                _check_count(found)
        return found

    def _count_attribute(
        self, node: onnx.NodeProto, attribute: onnx.AttributeProto, depth: int, opset: int
    ) -> int:
        kind = attribute.type
        if kind == onnx.AttributeProto.UNDEFINED and not attribute.ref_attr_name:
            raise LoadError(
                f"the attribute {shown(attribute.name)} of a {node.op_type} ({shown(node.name)}) has no type"
            )
        if kind in (onnx.AttributeProto.TENSOR, onnx.AttributeProto.TENSORS):
            for tensor in (attribute.t, *attribute.tensors):
                _check_tensor(tensor)
        elif kind in (onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS):
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                _check_dims(sparse.values.name, sparse.dims)
        elif kind in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
            graphs = (attribute.g, *attribute.graphs)
            for graph in graphs:
                for tensor in graph.initializer:
                    _check_tensor(tensor)
            return sum(self._count(graph.node, depth + 1, opset) for graph in graphs)
        return 0


def _standard(opsets: Iterable[onnx.OperatorSetIdProto]) -> int:
    """The version of the standard operators; 0 if none is imported."""
    return max((opset.version for opset in opsets if opset.domain in _STANDARD), default=0)


def _check_form(node: onnx.NodeProto, opset: int) -> None:
    """Refuse a standard operator that lacks inputs or attributes, or has them of a wrong type."""
    inputs, known = _form(node.op_type, opset)
    what = f"a {node.op_type} ({shown(node.name)})"
    if len(node.input) < inputs and opset >= OLDEST_OPSET:  # older ones are refused as such
        raise LoadError(f"{what} has {count(len(node.input), 'input')} of at least {inputs}")
    present = {attribute.name for attribute in node.attribute}
    for name, (_, required) in known.items():
        if required and name not in present:
            raise LoadError(f"{what} lacks its attribute '{name}'")
    for attribute in node.attribute:
        kind, _ = known.get(attribute.name, (attribute.type, False))
        if kind != attribute.type and not attribute.ref_attr_name:
            raise LoadError(
                f"the attribute {shown(attribute.name)} of {what} is of type {_kind(attribute.type)}, not "
                f"{_kind(kind)}"
            )
        for text in (attribute.s, *attribute.strings):
            try:
                text.decode()
            except UnicodeDecodeError:
                raise LoadError(f"the attribute {shown(attribute.name)} of {what} is not UTF-8") from None


def _kind(number: int) -> str:
    kinds = onnx.AttributeProto.AttributeType
    return str(kinds.Name(number)) if number in kinds.values() else str(number)


@functools.cache
def _form(op_type: str, opset: int) -> tuple[int, dict[str, tuple[int, bool]]]:
    """The fewest inputs of a standard operator; the type of each attribute, and whether it is required.

    0 and none for an operator that onnx does not know.
    """
    try:
        schema = onnx.defs.get_schema(op_type, min(max(opset, 0), _LARGEST_VERSION))
    except onnx.defs.SchemaError:
        return 0, {}
    attributes = {name: (int(known.type.value), known.required) for name, known in schema.attributes.items()}
    return schema.min_input, attributes


def _check_count(nodes: int) -> None:
    if nodes > MAX_NODES:
        raise LoadError(f"it has more than {MAX_NODES} nodes when its functions are expanded")


def _check_opsets(name: str, opsets: Iterable[onnx.OperatorSetIdProto]) -> None:
    newest = onnx.defs.onnx_opset_version()
    for opset in opsets:
        if opset.version < 1 or (opset.domain in _STANDARD and opset.version > newest):
            raise LoadError(
                f"the function {shown(name)} imports opset {opset.version} of "
                f"{shown(opset.domain)}; this onnx package knows up to {newest}"
            )
        if opset.version > _LARGEST_VERSION:
            raise LoadError(f"the function {shown(name)} imports opset {opset.version}, which no domain has")


_LARGEST_VERSION = (1 << 31) - 1
"""onnx keeps versions in 32 bits."""


def _check_names(function: onnx.FunctionProto) -> None:
    """Refuse a function that reads an undefined name; its subgraphs are left to onnx."""
    known = {"", *function.input}
    for node in function.node:
        for name in node.input:
            if name not in known:
                raise LoadError(
                    f"the function {shown(function.name)} reads {shown(name)}, which is not there"
                )
        known.update(node.output)
    for name in function.output:
        if name not in known:
            raise LoadError(f"the function {shown(function.name)} returns {shown(name)}, which is not there")


def _check_dims(name: str, dims: Iterable[int]) -> int:
    sizes = list(dims)
    if any(size < 0 for size in sizes):
        raise LoadError(f"the weight {shown(name)} has a negative dimension: {_times(sizes)}")
    elements = math.prod(sizes)
    if elements > MAX_ELEMENTS:
        raise LoadError(f"the weight {shown(name)} is {_times(sizes)}: {MAX_ELEMENTS} elements are the limit")
    return elements


def _check_tensor(tensor: onnx.TensorProto) -> None:
    """Refuse a weight that declares more elements than the file holds for it."""
    elements = _check_dims(tensor.name, tensor.dims)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return
    stored = _stored(tensor)
    if elements > stored:
        raise LoadError(
            f"the weight {shown(tensor.name)} declares {_times(list(tensor.dims))} elements, and the file "
            f"holds {stored}"
        )


def _stored(tensor: onnx.TensorProto) -> int:
    """The elements that the data of a tensor can hold."""
    bits = bits_of(tensor)
    if tensor.HasField("raw_data"):
        return 8 * len(tensor.raw_data) // bits
    entries = max(len(getattr(tensor, field)) for field in _TYPED)
    return entries // 2 if tensor.data_type in _PAIRS else entries * max(1, 8 // bits)


def bits_of(tensor: onnx.TensorProto) -> int:
    """The bits of one element; 8 for texts, which have no fixed size.

    Raises:
        LoadError: The type is unknown.
    """
    try:
        kind = ir.DataType(tensor.data_type)
        return 8 if kind == ir.DataType.STRING else kind.bitwidth
    except (ValueError, TypeError):
        raise LoadError(
            f"the weight {shown(tensor.name)} has elements of the unknown type {tensor.data_type}"
        ) from None


def _times(sizes: list[int]) -> str:
    return "×".join(map(str, sizes)) or "1"
