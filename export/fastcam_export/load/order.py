"""Bring the nodes of a graph into topological order, which ONNX demands and some tools forget."""

from __future__ import annotations

import heapq
from dataclasses import replace

import onnx

from .loaded_model import LoadedModel
from .messages import reads


def in_order(source: LoadedModel) -> LoadedModel:
    """The same model with every node behind those it reads from, and a note if that was not so.

    onnxruntime runs such a file, and converters to half precision write it: their casts are the last nodes.
    A graph with a cycle stays as it is.
    """
    order = _order(source.proto.graph)
    if order is None:
        return source
    proto = onnx.ModelProto()
    proto.CopyFrom(source.proto)
    nodes = source.proto.graph.node
    del proto.graph.node[:]
    proto.graph.node.extend(nodes[k] for k in order)
    return replace(source, proto=proto, notes=(*source.notes, "nodes sorted: the file has them out of order"))


def _order(graph: onnx.GraphProto) -> list[int] | None:
    """The numbers of the nodes in order; None if they are in order already, or there is a cycle."""
    maker = {name: k for k, node in enumerate(graph.node) for name in node.output if name}
    needs = [{maker[name] for name in reads(node) if name in maker} for node in graph.node]
    if all(other < k for k, others in enumerate(needs) for other in others):
        return None
    readers: dict[int, list[int]] = {}
    for k, others in enumerate(needs):
        for other in others:
            readers.setdefault(other, []).append(k)
    ready = [k for k, others in enumerate(needs) if not others]  # ascending, so it is a heap
    order: list[int] = []
    while ready:
        order.append(k := heapq.heappop(ready))
        for reader in readers.get(k, ()):
            needs[reader].discard(k)
            if not needs[reader]:
                heapq.heappush(ready, reader)
    return order if len(order) == len(needs) else None
