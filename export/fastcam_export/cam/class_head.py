"""The head: the part of a network between the last tap and the class scores, and its shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from ..analysis.dominators import inputs_of
from ..analysis.inference import infer
from ..analysis.operators import facts
from ..analysis.values import Dims
from ..errors import GraftError


@dataclass(frozen=True)
class ClassHead:
    """The part of a network that the gradient of a class score passes through."""

    twins: tuple[ir.Value, ...]
    """The tap, and copies of it that were dequantised for other readers."""
    logits: ir.Value
    path: frozenset[ir.Value]
    """The values that depend on the tap and that the logits depend on, both included."""
    nodes: tuple[ir.Node, ...]
    """The nodes of the path, last first."""


def find_head(graph: ir.Graph, tap: ir.Value, logits: ir.Value) -> ClassHead:
    """The nodes of `graph` between `tap` and `logits`.

    Raises:
        GraftError: The logits do not depend on the tap.
    """
    twins = _twins(tap)
    dependent: set[ir.Value] = set(twins)
    carriers: list[ir.Node] = []
    for node in graph:
        if facts(node.op_type).has_gradient and not dependent.isdisjoint(inputs_of(node)):
            dependent.update(node.outputs)
            carriers.append(node)
    if logits not in dependent:
        raise GraftError(f"the scores '{logits.name}' do not depend on the tap '{tap.name}': no class map")
    path, nodes = {logits}, []
    for node in reversed(carriers):
        if not path.isdisjoint(node.outputs):
            path.update(dependent.intersection(inputs_of(node)))
            nodes.append(node)
    return ClassHead(tuple(twins), logits, frozenset(path), tuple(nodes))


def _twins(tap: ir.Value) -> list[ir.Value]:
    """The tap and its copies: quantisers may give every reader of a tensor its own DequantizeLinear."""
    producer = tap.producer()
    if producer is None or producer.op_type != "DequantizeLinear" or producer.inputs[0] is None:
        return [tap]
    readers = (use.node for use in producer.inputs[0].uses())
    others = [node.outputs[0] for node in readers if node.op_type == "DequantizeLinear"]
    return [tap, *(value for value in others if value is not tap)]


def infer_head(graph: ir.Graph, head: ClassHead, shapes: Mapping[str, Dims]) -> None:
    """Set the shapes and types that the values between tap and logits, and their weights, lack.

    `shapes` are the known ones by tensor name, None for free dimensions. Fixed shapes override inference; the
    others are used where inference finds none.
    """
    seen = {value: dims for value in head.path if (dims := shapes.get(value.name or "")) is not None}
    fixed = {value: dims for value, dims in seen.items() if None not in dims}
    for value, dims in fixed.items():
        value.shape = ir.Shape(dims)
    values = head.path.union(*(inputs_of(node) for node in head.nodes))
    if all(value.shape is not None and value.dtype is not None for value in values):
        return
    tap = head.twins[0]
    known = fixed | (dict.fromkeys(head.twins, seen[tap]) if tap in seen else {})
    _fill(graph, _ancestors(graph, head.logits), known)
    for value, dims in (known | seen).items():
        if value.shape is None:
            value.shape = ir.Shape(dims)


def _ancestors(graph: ir.Graph, value: ir.Value) -> list[ir.Node]:
    """The nodes that `value` depends on, in topological order."""
    needed, nodes = {value}, []
    for node in reversed(graph):
        if not needed.isdisjoint(node.outputs):
            needed.update(inputs_of(node))
            nodes.append(node)
    return nodes[::-1]


def _fill(graph: ir.Graph, nodes: Sequence[ir.Node], known: Mapping[ir.Value, Dims]) -> None:
    """Infer over `nodes`, and set the shapes and types of values that lack them."""
    found = infer(graph, nodes, known)
    for value in (value for node in nodes for value in node.outputs):
        inferred = found.get(value.name or "")
        if inferred is None:
            continue
        if value.shape is None:
            value.shape = inferred.shape
        if value.type is None:
            value.type = inferred.type
