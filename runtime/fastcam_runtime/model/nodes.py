"""The nodes of a graph, read from and written to their bytes in an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..contract import NODE_PREFIX
from ..errors import ModelError
from ..limits import MAX_DEPTH
from .protobuf import BYTES, Field, fields, integer_field, integers, text_field, text_of

# Field numbers of onnx.proto.
NODE_OPERATOR = 4
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 3, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_INT, _ATTRIBUTE_INTS, _ATTRIBUTE_TYPE = 1, 3, 8, 20
_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 6, 11
_INT = 2
"""The type of an attribute that is one integer."""
_GRAPH_NODE, _GRAPH_OUTPUT, _VALUE_NAME = 1, 12, 1


@dataclass(frozen=True)
class Node:
    """One node. It is not changed: `rewritten` makes the bytes of another one."""

    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    data: memoryview
    """Its bytes in the file."""

    @property
    def grafted(self) -> bool:
        """Whether the exporter added it, by its name."""
        return self.name.startswith(NODE_PREFIX)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The values that it reads, also in its subgraphs."""
        return frozenset(_read_by(self)) - {""}

    def integers(self, attribute: str) -> list[int]:
        """The value of an attribute of one or many integers; empty if it has no such attribute."""
        for field in fields(self.data):
            if field.number == _NODE_ATTRIBUTE and text_of(field.value, _ATTRIBUTE_NAME) == attribute:
                return integers(field.value, _ATTRIBUTE_INTS) or integers(field.value, _ATTRIBUTE_INT)
        return []

    @classmethod
    def read(cls, data: memoryview) -> Node:
        """Read a node from its bytes."""
        texts: dict[int, list[str]] = {}
        for field in fields(data):
            if field.number in (_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, NODE_OPERATOR, _NODE_DOMAIN):
                texts.setdefault(field.number, []).append(field.text)
        name, operator, domain = (
            texts.get(number, [""])[-1] for number in (_NODE_NAME, NODE_OPERATOR, _NODE_DOMAIN)
        )
        inputs, outputs = (tuple(texts.get(number, ())) for number in (_NODE_INPUT, _NODE_OUTPUT))
        return cls(name, operator, domain, inputs, outputs, data)

    def rewritten(
        self,
        *,
        name: str | None = None,
        operator: str | None = None,
        inputs: Sequence[str] | None = None,
        added: Mapping[str, int] | None = None,
    ) -> Node:
        """The same node with another name, operator or inputs, and with further integer attributes."""
        parts: list[bytes | memoryview] = [
            text_field(_NODE_NAME, self.name if name is None else name),
            text_field(NODE_OPERATOR, self.operator if operator is None else operator),
            *(text_field(_NODE_INPUT, value) for value in (self.inputs if inputs is None else inputs)),
            *(field.whole for field in fields(self.data) if _stays(field)),
        ]
        for attribute, value in (added or {}).items():
            content = text_field(_ATTRIBUTE_NAME, attribute) + integer_field(_ATTRIBUTE_INT, value)
            parts.append(text_field(_NODE_ATTRIBUTE, content + integer_field(_ATTRIBUTE_TYPE, _INT)))
        return Node.read(memoryview(b"".join(parts)))


def _stays(field: Field) -> bool:
    return field.number not in (_NODE_INPUT, _NODE_NAME, NODE_OPERATOR)


def _read_by(node: Node, depth: int = 1) -> set[str]:
    """What a node in so many graphs reads: a superset of the outer values that its subgraphs capture."""
    if depth > MAX_DEPTH:
        raise ModelError(f"its graphs are nested more than {MAX_DEPTH} deep")
    names = set(node.inputs)
    attributes = (field.value for field in fields(node.data) if field.number == _NODE_ATTRIBUTE)
    graphs = (
        field.value
        for attribute in attributes
        for field in fields(attribute)
        if field.number in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS) and field.wire == BYTES
    )
    for graph in graphs:
        for part in fields(graph):
            if part.number == _GRAPH_NODE:
                names |= _read_by(Node.read(part.value), depth + 1)
            elif part.number == _GRAPH_OUTPUT:
                names.add(text_of(part.value, _VALUE_NAME))
    return names
