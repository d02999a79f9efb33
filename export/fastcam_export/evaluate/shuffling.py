"""Copies of a file with weights shuffled from the head down: a map that shows what was learnt must change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from fastcam_runtime.contract import NODE_PREFIX
from onnx import numpy_helper

STEPS = {"classifier": 0.0, "last quarter": 0.25, "last half": 0.5, "all": 1.0}
"""The share of the weight tensors that is shuffled, counted from the head; the classifier is one tensor."""
_SEED = 4


def shuffled(model: onnx.ModelProto, share: float) -> onnx.ModelProto:
    """A copy with the values of the last `share` of its weight tensors (at least one) in random order.

    A weight tensor is an initializer of the network with two dimensions or more. The values stay the same, so
    activations keep about their magnitude. The saliency branch is not changed.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    tensors = {tensor.name: tensor for tensor in copy.graph.initializer}
    names = _weights(copy.graph)
    random = np.random.default_rng(_SEED)
    for name in names[len(names) - max(1, round(share * len(names))) :]:
        values = numpy_helper.to_array(tensors[name])
        mixed = random.permutation(values.reshape(-1)).reshape(values.shape)
        tensors[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(mixed), name))
    return copy


def load_whole(path: Path) -> onnx.ModelProto:
    """The model with its external weights in memory."""
    return onnx.load(str(path), load_external_data=True)


def _weights(graph: onnx.GraphProto) -> list[str]:
    """The weight tensors, in the order of their first use."""
    sizes = {tensor.name: tensor for tensor in graph.initializer}
    found: dict[str, None] = {}
    for node in graph.node:
        if node.name.startswith(NODE_PREFIX):
            continue
        for name in node.input:
            tensor = sizes.get(name)
            if tensor is not None and len(tensor.dims) >= 2 and np.prod(tensor.dims) > max(tensor.dims):
                found.setdefault(name)
    return list(found)
