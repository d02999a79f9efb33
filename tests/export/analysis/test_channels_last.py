"""Networks that activate their features channels last, as unoptimised exports of Keras do."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from fastcam_export import graft
from onnx import helper
from support.networks import small_cnn
from support.running import metadata_of, picture, run

EVERYTHING = ["saliency_map", "scales", "lovi", "cam", "fastcam", "nonclass"]
TO_NHWC, TO_NCHW = [0, 2, 3, 1], [0, 3, 1, 2]
HEADS = {
    "pool and layer": "logits = Gemm <transB=1> (flat, w4)",
    "another head": "t = Tanh (flat) logits = Gemm <transB=1> (t, w4)",
}


def with_head(inputs: str, head: str) -> onnx.ModelProto:
    model = small_cnn(inputs)
    del model.graph.node[-1]
    model.graph.node.extend(onnx.parser.parse_graph(f"g (float flat) => (float logits) {{ {head} }}").node)
    return model


def channels_last(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network, with each ReLU and the mean over the pixels in N×H×W×C."""
    turned = onnx.ModelProto()
    turned.CopyFrom(model)
    del turned.graph.node[:]
    for node in model.graph.node:
        (y,) = node.output
        if node.op_type == "Relu":
            turned.graph.node.append(helper.make_node("Transpose", node.input, [f"{y}_t"], perm=TO_NHWC))
            turned.graph.node.append(helper.make_node("Relu", [f"{y}_t"], [f"{y}_last"]))
            if y != "a3":
                turned.graph.node.append(helper.make_node("Transpose", [f"{y}_last"], [y], perm=TO_NCHW))
        elif node.op_type == "GlobalAveragePool":
            pool = helper.make_node("ReduceMean", ["a3_last"], ["flat"], axes=[1, 2], keepdims=0)
            turned.graph.node.append(pool)
        elif node.op_type != "Flatten":
            turned.graph.node.append(node)
    return turned


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["1,3,64,64", "N,3,64,64", "N,3,H,W"])
@pytest.mark.parametrize("method", ["gradcam++", "gradcam"])
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_the_maps_are_those_of_the_same_network(head: str, method: str, shape: str) -> None:
    model = with_head(f"float[{shape}] input", head)
    x = picture(*((2, 3, 48, 80) if "H" in shape else (1, 3, 64, 64)))
    expected = run(graft(model, outputs=EVERYTHING, cam=method), input=x)
    grafted = graft(channels_last(model), outputs=EVERYTHING, cam=method)
    taps = metadata_of(grafted).taps
    assert [tap.name for tap in taps] == ["a1", "a2", "a3_last"]
    assert [tap.shape[1] for tap in taps] == [8, 12, 16]
    for name, values in run(grafted, input=x).items():
        np.testing.assert_allclose(values, expected[name], atol=1 if values.dtype == np.uint8 else 1e-5)


@pytest.mark.parametrize("options", [{"statistic": "truncnormal_mean"}, {"channel_share": 0.5}])
def test_what_else_reads_the_tap(options: dict[str, Any]) -> None:
    model, x = small_cnn(), picture(1, 3, 64, 64)
    expected = run(graft(model, outputs="scales", **options), input=x)
    for name, values in run(graft(channels_last(model), outputs="scales", **options), input=x).items():
        np.testing.assert_allclose(values, expected[name], atol=1e-5)
