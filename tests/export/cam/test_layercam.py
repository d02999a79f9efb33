"""LayerCAM of the two deepest scales, against torch's autograd in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F
from fastcam_export import graft
from fastcam_export.errors import GraftError
from support import cam_harness
from support.networks import network, small_cnn
from support.oracle import method
from support.tiny_detector import export_tiny

STAGE = """
c1 = Conv <strides=[2,2], pads=[1,1,1,1]> (input, w1)
a1 = Relu (c1)
wide = Conv (a1, w2)
a2 = Clip (wide, zero, six)
each = Conv <strides=[2,2], pads=[1,1,1,1], group=8> (a2, w3)
a3 = Relu (each)
thin = Conv (a3, w4)
pair = Conv <pads=[1,1,1,1], group=2> (thin, w5)
b = Relu (pair)
sum = Add (b, thin)
far = Conv <pads=[2,2,2,2], dilations=[2,2]> (sum, w6)
a4 = Relu (far)
pooled = GlobalAveragePool (a4)
flat = Flatten (pooled)
logits = Gemm <transB=1> (flat, w7)
"""
SHAPES = [(6, 3, 3, 3), (8, 6, 1, 1), (8, 1, 3, 3), (4, 8, 1, 1), (4, 2, 3, 3), (10, 4, 3, 3), (5, 10)]


def mobile_net(inputs: str = "float[N,3,32,32] input") -> onnx.ModelProto:
    """A last stage with what mobile networks have there, and groups and dilation."""
    random = np.random.default_rng(4)
    weights = {
        f"w{number}": (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) / 2)).astype(np.float32)
        for number, shape in enumerate(SHAPES, 1)
    }
    return network(
        STAGE, inputs=inputs, opset=17, output="float[N,5] logits",
        zero=np.float32(0), six=np.float32(6), **weights,
    )  # fmt: skip


def expected_map(model: onnx.ModelProto, x: np.ndarray, classes: list[int]) -> np.ndarray:
    """The mean of relu(Σ relu(g)·A) at a2 and a4, each stretched to 0…1, stretched again."""
    w = {
        tensor.name: torch.tensor(onnx.numpy_helper.to_array(tensor), dtype=torch.float64)
        for tensor in model.graph.initializer
    }
    a1 = F.relu(F.conv2d(torch.tensor(x, dtype=torch.float64), w["w1"], stride=2, padding=1))
    a2 = F.conv2d(a1, w["w2"]).clamp(0, 6).requires_grad_()
    a3 = F.relu(F.conv2d(a2, w["w3"], stride=2, padding=1, groups=8))
    thin = F.conv2d(a3, w["w4"])
    added = F.relu(F.conv2d(thin, w["w5"], padding=1, groups=2)) + thin
    a4 = F.relu(F.conv2d(added, w["w6"], padding=2, dilation=2))
    logits = a4.mean((2, 3)) @ w["w7"].T
    gradients = torch.autograd.grad(logits[range(len(classes)), classes].sum(), [a2, a4])
    total = 0
    for a, g in zip((a2, a4), gradients, strict=True):
        small = F.relu((F.relu(g) * a).sum(1)).detach().numpy()
        total = total + method.bilinear(cam_harness.normalise(small), *x.shape[2:])
    return cam_harness.normalise(np.asarray(total))


@pytest.mark.parametrize("size", ["32,32", "H,W"])
def test_each_picture_of_a_batch_has_its_own_class(size: str) -> None:
    model = mobile_net(f"float[N,3,{size}] input")
    grafted = graft(
        model, outputs=["saliency_map", "cam", "fastcam"], cam="layercam", taps=["a1", "a2", "a4"]
    )
    x = np.random.default_rng(5).standard_normal((3, 3, 32, 32)).astype(np.float32)
    found = _run(grafted, x, [4, 0, 2])
    np.testing.assert_allclose(found["saliency_cam"], expected_map(model, x, [4, 0, 2]), atol=2e-5)
    np.testing.assert_allclose(
        found["saliency_fastcam"], found["saliency_map"] * found["saliency_cam"], atol=1e-6
    )


def test_the_best_class_is_the_default() -> None:
    grafted = graft(small_cnn(), outputs=["cam"], cam="layercam")
    x = np.random.default_rng(6).standard_normal((1, 3, 64, 64)).astype(np.float32)
    found = _run(grafted, x)
    best = int(found["logits"].argmax())
    np.testing.assert_array_equal(found["saliency_cam"], _run(grafted, x, [best])["saliency_cam"])
    assert not np.allclose(
        found["saliency_cam"], _run(grafted, x, [(best + 1) % 10])["saliency_cam"], atol=0.1
    )


def test_a_single_scale_is_enough() -> None:
    grafted = graft(small_cnn(), outputs=["cam"], cam="layercam", taps=["a3"])
    found = _run(grafted, np.ones((1, 3, 64, 64), np.float32))["saliency_cam"]
    assert (found.min(), found.max()) == (0, 1)


def test_a_detector_takes_gradcam(tmp_path: Path) -> None:
    detector = export_tiny("yolov8", str(tmp_path / "detector.onnx"))
    with pytest.raises(GraftError, match="layercam explains the scores of a classifier"):
        graft(detector, outputs=["cam"], cam="layercam")


def _run(model: onnx.ModelProto, x: np.ndarray, classes: list[int] | None = None) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    feeds = {"input": x} | ({} if classes is None else {"saliency_class": np.array(classes, np.int64)})
    return dict(zip(names, session.run(names, feeds), strict=True))
