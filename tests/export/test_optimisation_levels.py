"""A grafted file gives the same maps at every optimisation level of onnxruntime."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import graft
from support.networks import network

pytestmark = pytest.mark.slow

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")


def twin_scales(opset: int, channels: int, strides: tuple[int, int], side: int) -> onnx.ModelProto:
    """Two scales with the same number of channels, so that their constants are equal, but not their sizes.

    Weights are small integers: convolutions are exact in any order of summation.
    """
    random = np.random.default_rng(channels)
    first, second = strides
    w1 = random.integers(-1, 2, (channels, 3, 3, 3)).astype(np.float32)
    w2 = random.integers(-1, 2, (channels, channels, 3, 3)).astype(np.float32)
    w3 = (random.standard_normal((10, channels)) / 8).astype(np.float32)
    return network(
        f"""
        c1 = Conv <kernel_shape=[3,3], strides=[{first},{first}], pads=[1,1,1,1]> (input, w1)
        a1 = Relu (c1)
        c2 = Conv <kernel_shape=[3,3], strides=[{second},{second}], pads=[1,1,1,1]> (a1, w2)
        a2 = Relu (c2)
        pooled = GlobalAveragePool (a2)
        flat = Flatten (pooled)
        logits = Gemm <transB=1> (flat, w3)
        """,
        inputs=f"float[1,3,{side},{side}] input", output="float[1,10] logits", opset=opset,
        w1=w1, w2=w2, w3=w3,
    )  # fmt: skip


def run(model: bytes, level: str) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    x = np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32)
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, {"input": x}), strict=True))


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize(
    ("channels", "side", "strides"),
    [
        (64, 320, (2, 2)),
        (64, 320, (2, 4)),
        (32, 224, (1, 2)),
        (96, 224, (2, 2)),
        (48, 160, (2, 4)),
        (7, 96, (2, 4)),
    ],
)
def test_two_scales_of_equal_channels(opset: int, channels: int, side: int, strides: tuple[int, int]) -> None:
    """Their Split nodes read equal constants: onnxruntime 1.31 merged those of different numbers of parts."""
    model = graft(
        twin_scales(opset, channels, strides, side), outputs=["saliency_map", "scales", "lovi", "fastcam"]
    ).SerializeToString()
    plain = run(model, LEVELS[0])
    for level in LEVELS[1:]:
        for name, values in run(model, level).items():
            tolerance = 1 if values.dtype == np.uint8 else 2e-5
            np.testing.assert_allclose(
                values.astype(np.float64),
                plain[name].astype(np.float64),
                atol=tolerance,
                err_msg=f"{level} {name}",
            )


@pytest.mark.parametrize("statistic", ["smoe", "std", "shannon", "lognormal_entropy", "truncnormal_entropy"])
@pytest.mark.parametrize("normalize", ["gauss", "gamma", "range"])
def test_no_step_has_a_node_that_another_can_be_taken_for(statistic: str, normalize: str) -> None:
    """Nodes with a variable number of outputs say it in an input, which optimisers compare."""
    for opset, inline in itertools.product((13, 18), (False, True)):
        model = graft(
            twin_scales(opset, 64, (2, 4), 64), outputs="saliency_map,scales,lovi,cam,fastcam,nonclass",
            statistic=statistic, normalize=normalize, inline=inline,
        )  # fmt: skip
        nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
        several = [node for node in nodes if len(node.output) > 1]
        assert several
        for node in several:
            assert node.op_type == "Split"
            assert len(node.input) == 2
