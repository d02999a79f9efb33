"""Prepare a grafted file for one kind of processor: the cheapest form, and the fastest to load.

On processors with wide registers onnxruntime stores activations in blocks of channels. It converts tapped
ones back to planes, which takes longer than computing their maps. Here onnxruntime saves the optimised
network with its blocks, and the compiled SMOE kernel reads these directly. The result is exact, but only for
this release of onnxruntime on this kind of processor. Elsewhere the runtime refuses the file.
"""

from __future__ import annotations

import errno
import heapq
import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
import onnxruntime as ort
from fastcam_runtime import native
from fastcam_runtime.contract import DOMAIN, LOVI, METADATA_KEY, NODE_PREFIX, Metadata
from fastcam_runtime.errors import first_line
from fastcam_runtime.prepared import device

from ..analysis.ends import TO_NCHW
from ..check import compare, run
from ..errors import GraftError
from ..load.messages import reads
from ..save.streaming import write_model

BLOCKS = (16, 8)
"""The possible numbers of channels per block, where the processor's is not known."""
TO_PLANES = "ReorderOutput"
"""onnxruntime's operator that converts blocks to planes."""
FROM_PLANES = "SmoeScale"
FROM_BLOCKS = "SmoeScaleBlocked"
FROM_INTEGERS = "SmoeScaleQuantized"
FROM_CHANNELS_LAST = "SmoeScaleQuantizedNhwc"
LANES = 8
"""The kernel reads whole vectors of so many channels where these come last."""


def prepare(grafted: Path, target: Path, metadata: Metadata) -> Metadata:
    """Write the grafted model to `target` as onnxruntime runs it on this device, and compare the two.

    Args:
        grafted: A grafted file with functions.
        target: The file to make; weights that were external are in it.
        metadata: That of the grafted file.

    Returns:
        The metadata of the prepared file.

    Raises:
        GraftError: There are no compiled kernels, or no tensor that they could read in blocks.
    """
    if not native.usable():
        raise GraftError(f"a file can be prepared only for compiled kernels: {native.status()}")
    marked = replace(metadata, prepared=device.here())
    reason: GraftError | None = None
    for block in [known] if (known := device.block()) else BLOCKS:
        _optimize(grafted, target)
        proto = onnx.load(target)
        if not _read_blocks(proto.graph, block) + _read_channels_last(proto.graph):
            continue
        _arrange(proto.graph, metadata.outputs)
        for entry in proto.metadata_props:
            if entry.key == METADATA_KEY:
                entry.value = marked.to_json()
        write_model(proto, target)
        del proto
        try:
            _check_same(grafted, target, marked)
        except GraftError as error:
            reason = error  # the maps differ: perhaps the blocks have another size
        else:
            return marked
    if reason is not None:
        raise GraftError(f"the file cannot be prepared: {reason}") from reason
    raise GraftError(
        "nothing to prepare: here onnxruntime keeps no tensor that SMOE reads in whole blocks of channels"
    )


def _check_same(grafted: Path, prepared: Path, metadata: Metadata) -> None:
    """Run both on the same random picture, beside the compiled kernels.

    Raises:
        GraftError: The prepared model does not run, or an output is not the same.
    """
    expected, feeds = run(grafted, "the grafted model", metadata, None, compiled=True)
    found, _ = run(prepared, "the prepared model", metadata, feeds, compiled=True)
    for name, values in expected.items():
        if name != LOVI:  # bytes, made of scales that may differ in their last digit
            compare(name, values, found, "the preparation")


def _optimize(grafted: Path, target: Path) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 4  # failures are raised; no warning that the file is for this machine only
    options.optimized_model_filepath = str(target)
    native.register(options)
    try:
        ort.InferenceSession(str(grafted), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no public base class
        # onnxruntime does not say why a file could not be written.
        if shutil.disk_usage(target.parent).free < sum(f.stat().st_size for f in grafted.parent.iterdir()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise GraftError(f"onnxruntime cannot prepare the file: {first_line(error)}") from error


def _read_blocks(graph: onnx.GraphProto, block: int) -> int:
    """Let SMOE read blocks instead of the planes made from them; returns the number of such taps."""
    to_planes = {node.output[0]: node for node in graph.node if node.op_type == TO_PLANES}
    count = 0
    for node in graph.node:
        if node.domain != DOMAIN or not node.op_type.startswith(FROM_PLANES):
            continue
        reorder = to_planes.get(node.input[0])
        if reorder is None or _attribute(reorder, "channels") % block:
            continue
        node.op_type = FROM_BLOCKS + ("Relu" if "Relu" in node.op_type else "")
        del node.input[:]  # including the constants of the function's body
        node.input.append(reorder.input[0])
        node.attribute.append(onnx.helper.make_attribute("block", block))
        count += 1
    return count


def _read_channels_last(graph: onnx.GraphProto) -> int:
    """Let SMOE read quantised activations before they are transposed for it; returns the number of such taps.

    onnxruntime computes quantised convolutions with the channels last. The kernel reads whole vectors of
    channels there; taps with any other number of them stay as they are.
    """
    transposed = {node.output[0]: node for node in graph.node if node.op_type == "Transpose"}
    channels = {tensor.name: tensor.dims[0] for tensor in graph.initializer if tensor.dims}
    producers = {name: node for node in graph.node for name in node.output}
    count = 0
    for node in graph.node:
        if node.domain != DOMAIN or not node.op_type.startswith(FROM_INTEGERS):
            continue
        transpose = transposed.get(node.input[0])
        if transpose is None or _permutation(transpose) != TO_NCHW:
            continue
        convolution = producers.get(transpose.input[0])
        weights = convolution.input[3] if convolution is not None and len(convolution.input) > 3 else ""
        if convolution is None or convolution.op_type != "QLinearConv" or channels.get(weights, 1) % LANES:
            continue
        inputs = [transpose.input[0], *node.input[1:3]]
        del node.input[:]  # including the constants of the function's body
        node.op_type = FROM_CHANNELS_LAST
        node.input.extend(inputs)
        count += 1
    return count


def _permutation(node: onnx.NodeProto) -> list[int]:
    return next((list(attribute.ints) for attribute in node.attribute if attribute.name == "perm"), [])


def _attribute(node: onnx.NodeProto, name: str) -> int:
    return next(int(attribute.i) for attribute in node.attribute if attribute.name == name)


def _arrange(graph: onnx.GraphProto, maps: Collection[str]) -> None:
    """Drop unread nodes, give those of the branch their prefix, and move them behind the network."""
    outputs = [output.name for output in graph.output]
    network = _ancestors(graph.node, [name for name in outputs if name not in maps])
    needed = _ancestors(graph.node, outputs)
    branch = [graph.node[i] for i in sorted(needed - network)]
    for number, node in enumerate(branch):
        if not node.name.startswith(NODE_PREFIX):
            node.name = f"{NODE_PREFIX}{node.name or node.op_type}_{number}"
    arranged = onnx.GraphProto(node=[*(graph.node[i] for i in sorted(network)), *_last_first(branch)])
    del graph.node[:]
    graph.node.extend(arranged.node)
    read = set(outputs).union(*map(reads, graph.node))
    unread = [i for i, tensor in enumerate(graph.initializer) if tensor.name not in read]
    for i in reversed(unread):
        del graph.initializer[i]


def _ancestors(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> set[int]:
    """The indices of the nodes that these outputs depend on."""
    wanted, found = set(outputs), set()
    for i in range(len(nodes) - 1, -1, -1):  # they are sorted
        if wanted.intersection(nodes[i].output):
            found.add(i)
            wanted |= reads(nodes[i])
    return found


def _last_first(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The nodes in another topological order: of all that could come next, always the last one.

    onnxruntime runs nodes later in the file earlier: each scale's map is then computed right after its tap.
    """
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    readers: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for i, node in enumerate(nodes):
        for source in {producer[name] for name in reads(node) if name in producer}:
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
