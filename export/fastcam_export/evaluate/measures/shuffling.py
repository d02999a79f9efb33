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

    A weight tensor is an initializer or a constant of the network with two dimensions or more. The values
    stay the same, so activations keep about their magnitude. The saliency branch is not changed.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    tensors = _weights(copy.graph)
    random = np.random.default_rng(_SEED)
    for tensor in tensors[len(tensors) - max(1, round(share * len(tensors))) :]:
        values = numpy_helper.to_array(tensor)
        mixed = random.permutation(values.reshape(-1)).reshape(values.shape)
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(mixed), tensor.name))
    return copy


def has_weights(model: onnx.ModelProto) -> bool:
    """Whether there is anything to shuffle."""
    return bool(_weights(model.graph))


def load_whole(path: Path) -> onnx.ModelProto:
    """The model with its external weights in memory."""
    return onnx.load(str(path), load_external_data=True)


def _weights(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    """The weight tensors, initializers or constants, in the order of their first use."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    tensors |= {
        node.output[0]: attribute.t
        for node in graph.node
        if node.op_type == "Constant" and not node.name.startswith(NODE_PREFIX)
        for attribute in node.attribute
        if attribute.name == "value"
    }
    found: dict[str, onnx.TensorProto] = {}
    for node in graph.node:
        if node.name.startswith(NODE_PREFIX):
            continue
        for name in node.input:
            tensor = tensors.get(name)
            if tensor is not None and len(tensor.dims) >= 2 and np.prod(tensor.dims) > max(tensor.dims):
                found.setdefault(name, tensor)
    return list(found.values())
