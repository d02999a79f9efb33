"""A network of two convolutions with maps: measures the loop or the page, not the network."""

from __future__ import annotations

from pathlib import Path

import fastcam_export
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (8, 16)
CLASSES = 10


def small_graft(path: Path, size: int = 32) -> Path:
    """Write a grafted network for `size` × `size` pixels to `path`, and return the path."""
    random = np.random.default_rng(0)
    first, second = CHANNELS
    weights = {
        "w1": random.normal(0, 0.3, (first, 3, 3, 3)),
        "w2": random.normal(0, 0.2, (second, first, 3, 3)),
        "w3": random.normal(0, 0.5, (second, CLASSES)),
    }
    stride = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["a"], **stride),
        helper.make_node("Relu", ["a"], ["scale_1"]),
        helper.make_node("Conv", ["scale_1", "w2"], ["b"], **stride),
        helper.make_node("Relu", ["b"], ["scale_2"]),
        helper.make_node("GlobalAveragePool", ["scale_2"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w3"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(fastcam_export.graft(model), path)
    return path
