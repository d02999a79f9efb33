"""Dominators: the tensors that every path from the image to the scores passes through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx_ir as ir

from .operators import facts


def inputs_of(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node reads, including those that its subgraphs capture from outside."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            subgraphs = [attribute.as_graph()]
        elif attribute.type == ir.AttributeType.GRAPHS:
            subgraphs = list(attribute.as_graphs())
        else:
            continue
        for subgraph in subgraphs:
            own = {id(value) for value in subgraph.inputs}
            for inner in subgraph:
                yield from (value for value in inputs_of(inner) if id(value) not in own)
                own.update(id(value) for value in inner.outputs)


def data_path(image: ir.Value, scores: ir.Value) -> list[ir.Node]:
    """The nodes that carry the picture's content from `image` to `scores`, in topological order."""
    graph = image.graph
    assert graph is not None
    data = {id(image)}
    carriers: list[ir.Node] = []
    for node in graph:
        if not facts(node.op_type).shape_only and any(id(value) in data for value in inputs_of(node)):
            data.update(id(value) for value in node.outputs)
            carriers.append(node)
    needed = {id(scores)}
    path: list[ir.Node] = []
    for node in reversed(carriers):
        if any(id(value) in needed for value in node.outputs):
            needed.update(id(value) for value in inputs_of(node))
            path.append(node)
    return path[::-1]


def dominators(path: list[ir.Node], image: ir.Value, scores: ir.Value) -> list[ir.Value]:
    """The values that every path passes through, in topological order.

    One scan over the nodes of `data_path`. A value is live from its producer to its last reader. If only one
    value is live at a point, everything computed later depends on the picture through this value alone.
    """
    produced = {id(image)} | {id(value) for node in path for value in node.outputs}
    readers = Counter(id(v) for node in path for v in {id(v): v for v in inputs_of(node)}.values())
    readers[id(scores)] += 1
    live = {id(image)}
    found: list[ir.Value] = []
    for node in path:
        for key in {id(value) for value in inputs_of(node)} & produced:
            readers[key] -= 1
            if not readers[key]:
                live.discard(key)
        read = [value for value in node.outputs if readers[id(value)]]
        live.update(id(value) for value in read)
        if len(live) == 1 and read:
            found.append(read[0])
    return found
