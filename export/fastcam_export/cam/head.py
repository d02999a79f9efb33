"""The head: what lies between the last tap and the class scores."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from ..analysis.dominators import inputs_of
from ..analysis.operators import facts
from ..errors import GraftError


@dataclass(frozen=True)
class Head:
    """The part of a network that the gradient of a class score passes through."""

    twins: tuple[ir.Value, ...]
    """The tap, and the same tensor dequantised once more for another reader."""
    logits: ir.Value
    path: frozenset[ir.Value]
    """Values that follow from the tap and that the logits follow from, both included."""
    nodes: tuple[ir.Node, ...]
    """The nodes of the path, last first."""


def find_head(graph: ir.Graph, tap: ir.Value, logits: ir.Value) -> Head:
    """The nodes of `graph` between `tap` and `logits`.

    Raises:
        GraftError: The logits do not follow from the tap.
    """
    twins = _twins(tap)
    dependent: set[ir.Value] = set(twins)
    carriers: list[ir.Node] = []
    for node in graph:
        if facts(node.op_type).has_gradient and not dependent.isdisjoint(inputs_of(node)):
            dependent.update(node.outputs)
            carriers.append(node)
    if logits not in dependent:
        raise GraftError(f"the scores '{logits.name}' do not follow from the tap '{tap.name}': no class map")
    path, nodes = {logits}, []
    for node in reversed(carriers):
        if not path.isdisjoint(node.outputs):
            path.update(dependent.intersection(inputs_of(node)))
            nodes.append(node)
    return Head(tuple(twins), logits, frozenset(path), tuple(nodes))


def _twins(tap: ir.Value) -> list[ir.Value]:
    """Quantisers may give every reader of a tensor a DequantizeLinear of its own."""
    producer = tap.producer()
    if producer is None or producer.op_type != "DequantizeLinear" or producer.inputs[0] is None:
        return [tap]
    readers = (use.node for use in producer.inputs[0].uses())
    others = [node.outputs[0] for node in readers if node.op_type == "DequantizeLinear"]
    return [tap, *(value for value in others if value is not tap)]
