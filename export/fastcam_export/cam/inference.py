"""The shapes and types of the head's values, free dimensions left free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from ..analysis.dominators import inputs_of
from ..analysis.inference import infer
from ..analysis.values import Dims
from .head import Head


def infer_head(graph: ir.Graph, head: Head, shapes: Mapping[str, Dims]) -> None:
    """Set the shapes and types that the values between tap and logits, and their weights, lack.

    Args:
        graph: The model's graph; only shapes and types of its values change.
        head: What lies between the tap and the logits.
        shapes: What is known of the path by its tensors' names, None for free dimensions. It counts before
            inference where no dimension is free, and else where inference does not get that far.
    """
    seen = {value: dims for value in head.path if (dims := shapes.get(value.name or "")) is not None}
    fixed = {value: dims for value, dims in seen.items() if None not in dims}
    for value, dims in fixed.items():
        value.shape = ir.Shape(dims)
    values = head.path.union(*(inputs_of(node) for node in head.nodes))
    if all(value.shape is not None and value.dtype is not None for value in values):
        return
    nodes = _ancestors(graph, head.logits)
    _fill(graph, nodes, fixed)
    tap = head.twins[0]
    if tap in seen and any(value.shape is None for value in head.path):
        again = dict.fromkeys(head.twins, seen[tap])
        _enter(again)
        _fill(graph, nodes, again)
        _enter(seen)


def _ancestors(graph: ir.Graph, value: ir.Value) -> list[ir.Node]:
    """The nodes that `value` follows from, in topological order."""
    needed, nodes = {value}, []
    for node in reversed(graph):
        if not needed.isdisjoint(node.outputs):
            needed.update(inputs_of(node))
            nodes.append(node)
    return nodes[::-1]


def _fill(graph: ir.Graph, nodes: Sequence[ir.Node], known: Mapping[ir.Value, Dims]) -> None:
    """Infer over `nodes`, and enter what was found in the values that lack it."""
    found = infer(graph, nodes, known)
    for value in (value for node in nodes for value in node.outputs):
        inferred = found.get(value.name or "")
        if inferred is None:
            continue
        if value.shape is None:
            value.shape = inferred.shape
        if value.type is None:
            value.type = inferred.type


def _enter(known: Mapping[ir.Value, Dims]) -> None:
    for value, dims in known.items():
        if value.shape is None:
            value.shape = ir.Shape(dims)
