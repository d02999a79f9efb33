"""Rewrite a model that onnxruntime optimised, so that SMOE reads activations as onnxruntime stores them.

On processors with wide registers onnxruntime stores activations in blocks of channels (NCHWc). It converts
tapped tensors back to planes, which takes longer than computing their maps. Here the compiled SMOE kernel
reads the blocks directly; and so it reads quantised activations, which onnxruntime stores channels last.
"""

from __future__ import annotations

import heapq
import mmap
from collections.abc import Collection, Sequence
from pathlib import Path

from ..contract import DOMAIN, METADATA_KEY, NODE_PREFIX, Metadata
from ..errors import ModelError
from ..model.file import (
    ENTRY_KEY,
    ENTRY_VALUE,
    GRAPH_INITIALIZER,
    GRAPH_NODE,
    GRAPH_OUTPUT,
    MODEL_GRAPH,
    MODEL_METADATA,
    TENSOR_DIMS,
    TENSOR_NAME,
    VALUE_NAME,
)
from ..model.nodes import Node
from ..model.protobuf import BYTES, Field, field_header, fields, integers, text_field, text_of
from .weights import with_values

TO_PLANES = "ReorderOutput"
"""onnxruntime's operator that converts blocks to planes."""
FROM_PLANES = "SmoeScale"
FROM_BLOCKS = "SmoeScaleBlocked"
FROM_INTEGERS = "SmoeScaleQuantized"
FROM_CHANNELS_LAST = "SmoeScaleQuantizedNhwc"
LANES = 8
"""With the channels last, the kernel reads vectors of so many channels."""
TO_NCHW = [0, 3, 1, 2]

Pieces = list[bytes | memoryview]


def read_in_place(model: mmap.mmap | bytes, block: int, metadata: Metadata, folder: Path) -> Pieces | None:
    """The bytes of the same model, with kernels that read activations as they are stored.

    The network's own nodes come first, then those of the branch, all with the prefix in their names. Unused
    nodes are dropped.

    Args:
        model: The model that onnxruntime saved.
        block: The block size of onnxruntime's layout.
        metadata: The metadata of the new file.
        folder: The folder of external weights; these move into the model.

    Returns:
        The content of the file in parts; None if there is nothing to read in place.

    Raises:
        ModelError: These are not the bytes of an ONNX model.
        OSError: A file of weights cannot be read.
    """
    parts: Pieces = []
    graphs = 0
    for field in fields(memoryview(model)):
        if field.number == MODEL_GRAPH and field.wire == BYTES:
            graph = _rewrite_graph(field.value, block, metadata.outputs, folder)
            if graph is None:
                return None
            graphs += 1
            parts += [field_header(MODEL_GRAPH, sum(map(len, graph))), *graph]
        elif field.number == MODEL_METADATA and text_of(field.value, ENTRY_KEY) == METADATA_KEY:
            entry = text_field(ENTRY_KEY, METADATA_KEY) + text_field(ENTRY_VALUE, metadata.to_json())
            parts.append(text_field(MODEL_METADATA, entry))
        else:
            parts.append(field.whole)
    if graphs != 1:
        raise ModelError(f"not an ONNX model, or damaged: it holds {graphs or 'no'} graphs")
    return parts


def _rewrite_graph(graph: memoryview, block: int, maps: Collection[str], folder: Path) -> Pieces | None:
    every = list(fields(graph))
    nodes = [Node.read(field.value) for field in every if field.number == GRAPH_NODE]
    changed = {**_read_blocks(nodes, block), **_read_channels_last(nodes, _lengths(every))}
    if not changed:
        return None
    outputs = [text_of(field.value, VALUE_NAME) for field in every if field.number == GRAPH_OUTPUT]
    arranged = _arrange([changed.get(i, node) for i, node in enumerate(nodes)], outputs, maps)
    read = set(outputs).union(*(node.reads for node in arranged))
    parts: Pieces = []
    for node in arranged:
        parts += [field_header(GRAPH_NODE, len(node.data)), node.data]
    for field in every:
        if field.number == GRAPH_INITIALIZER:
            if text_of(field.value, TENSOR_NAME) in read:
                parts += with_values(field, folder)
        elif field.number != GRAPH_NODE:
            parts.append(field.whole)
    return parts


def _read_blocks(nodes: Sequence[Node], block: int) -> dict[int, Node]:
    """The SMOE nodes that can read blocks instead of the planes made from them, by index."""
    to_planes = {node.outputs[0]: node for node in nodes if node.operator == TO_PLANES and node.outputs}
    changed = {}
    for i, node in enumerate(nodes):
        if node.domain != DOMAIN or not node.operator.startswith(FROM_PLANES) or not node.inputs:
            continue
        reorder = to_planes.get(node.inputs[0])
        channels = reorder.integers("channels") if reorder is not None else []
        if reorder is None or not channels or channels[0] % block:
            continue
        operator = FROM_BLOCKS + ("Relu" if "Relu" in node.operator else "")
        # Without the constants of the function's body.
        changed[i] = node.rewritten(operator=operator, inputs=reorder.inputs[:1], added={"block": block})
    return changed


def _read_channels_last(nodes: Sequence[Node], lengths: dict[str, int]) -> dict[int, Node]:
    """The SMOE nodes that can read quantised activations before they are transposed for it, by index.

    onnxruntime computes quantised convolutions in NHWC. There the kernel reads vectors of `LANES` channels;
    taps whose number of channels is not a multiple of it are not changed.
    """
    producers = {name: node for node in nodes for name in node.outputs}
    changed = {}
    for i, node in enumerate(nodes):
        if node.domain != DOMAIN or not node.operator.startswith(FROM_INTEGERS) or not node.inputs:
            continue
        transpose = producers.get(node.inputs[0])
        if (
            transpose is None
            or transpose.operator != "Transpose"
            or transpose.integers("perm") != TO_NCHW
            or transpose.inputs[0] not in producers
        ):
            continue
        convolution = producers[transpose.inputs[0]]
        weights = convolution.inputs[3] if len(convolution.inputs) > 3 else ""
        if convolution.operator != "QLinearConv" or lengths.get(weights, 1) % LANES:
            continue
        # Without the constants of the function's body.
        inputs = [transpose.inputs[0], *node.inputs[1:3]]
        changed[i] = node.rewritten(operator=FROM_CHANNELS_LAST, inputs=inputs)
    return changed


def _lengths(graph: Sequence[Field]) -> dict[str, int]:
    """The first dimension of every constant that has one."""
    found = {}
    for field in graph:
        if field.number == GRAPH_INITIALIZER:
            sizes = integers(field.value, TENSOR_DIMS)
            if sizes:
                found[text_of(field.value, TENSOR_NAME)] = sizes[0]
    return found


def _arrange(nodes: Sequence[Node], outputs: Sequence[str], maps: Collection[str]) -> list[Node]:
    """Drop unused nodes, add the prefix to the branch's nodes, and move these behind the network."""
    network = _ancestors(nodes, [name for name in outputs if name not in maps])
    branch = []
    for number, i in enumerate(sorted(_ancestors(nodes, outputs) - network)):
        node = nodes[i]
        if not node.grafted:
            node = node.rewritten(name=f"{NODE_PREFIX}{node.name or node.operator}_{number}")
        branch.append(node)
    return [*(nodes[i] for i in sorted(network)), *_last_first(branch)]


def _ancestors(nodes: Sequence[Node], outputs: Sequence[str]) -> set[int]:
    """The indices of the nodes that these outputs depend on."""
    wanted, found = set(outputs), set()
    for i in range(len(nodes) - 1, -1, -1):  # they are sorted
        if wanted.intersection(nodes[i].outputs):
            found.add(i)
            wanted |= nodes[i].reads
    return found


def _last_first(nodes: Sequence[Node]) -> list[Node]:
    """Reorder the nodes topologically: of all nodes that are ready, always take the last.

    onnxruntime runs nodes later in the file earlier: each scale's map is then computed right after its tap.
    """
    producer = {name: i for i, node in enumerate(nodes) for name in node.outputs if name}
    readers: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for i, node in enumerate(nodes):
        for source in {producer[name] for name in node.reads if name in producer}:
            readers[source].append(i)
            missing[i] += 1
    ready = [-i for i, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    result = []
    while ready:
        i = -heapq.heappop(ready)
        result.append(nodes[i])
        for reader in readers[i]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, -reader)
    return result
