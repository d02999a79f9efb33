"""The maps: golden vectors, and values at the limits of float32."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from fastcam_export.cam import minmax
from fastcam_export.method.bilinear import upsample
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import numpy_helper
from support.cam_harness import autograd, normalise, run, session, textbook_cam, with_class_map
from support.paths import GOLDEN
from support.steps import StepRunner, run_step

OPSET = 17


def gap_linear(
    weight: np.ndarray, bias: np.ndarray | None = None, *, closed: bool = True, end: str = ""
) -> onnx.ModelProto:
    """x = tap → GlobalAveragePool → Linear → `end`; a Neg of a Neg hides the closed form."""
    classes, channels = weight.shape
    pools = {
        True: "p = GlobalAveragePool(tap)",
        False: "m = Neg(tap)\n q = GlobalAveragePool(m)\n p = Neg(q)",
    }
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {OPSET}]>\n'
        f"net (float[N,{channels},H,W] x) => (float[N,{classes}] scores) {{\n"
        f" tap = Identity(x)\n {pools[closed]}\n f = Flatten(p)\n logits = Gemm<transB=1>(f, w, b)\n"
        f" scores = {end or 'Identity'}(logits)\n}}"
    )
    bias = np.zeros(classes) if bias is None else bias
    for name, array in {"w": weight, "b": bias}.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return model


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "general"])
@pytest.mark.parametrize(
    ("method", "epsilon", "key", "tolerance"),
    [
        ("gradcam++", 1e-7, "cam_gradcampp", 1e-6),
        ("gradcam++", 0.0, "derived_textbook_gradcampp", 2e-6),
        ("gradcam++", 1e-7, "derived_eps1e-7_gradcampp", 2e-6),
        ("gradcam++", 1e-6, "derived_eps1e-6_gradcampp", 2e-6),
        ("gradcam", 0.0, "cam_gradcam", 2e-6),
        ("gradcam", 0.0, "cam_xgradcam", 2e-6),
        ("gradcam", 0.0, "derived_cam", 2e-6),
    ],
)
def test_golden_head(method: str, epsilon: float, key: str, tolerance: float, closed: bool) -> None:
    golden = np.load(GOLDEN / "cam_head_7x7.npz")
    model = gap_linear(golden["fc_weight"], golden["fc_bias"], closed=closed)
    cam = run(with_class_map(model, "tap", method=method, epsilon=epsilon), "cam", {"x": golden["features"]})
    np.testing.assert_allclose(cam, golden[key], atol=tolerance)


@pytest.mark.parametrize(("method", "key"), [("gradcam++", "cam_gradcampp"), ("gradcam", "cam_gradcam")])
def test_golden_network(method: str, key: str) -> None:
    """The whole reference pipeline: its features, its head with its ε, upsampled, then min–max."""
    golden = np.load(GOLDEN / "fastcam_smallcnn.npz")
    model = gap_linear(golden["w_fc.weight"], golden["w_fc.bias"])
    grown = with_class_map(model, "tap", method=method, epsilon=1e-7, normalised=False)
    enlarge = upsample(opset=OPSET, size_from=(3, 2), size_to=(72, 56))
    features = golden["tap_layer4"]
    for feeds, expected in (
        ({"x": features}, golden[key]),
        ({"x": features[:1], "saliency_class": np.array([1])}, golden[f"{key}_item0_class1"]),
    ):
        large = run_step(enlarge, run(grown, "cam", feeds))
        np.testing.assert_allclose(run_step(minmax(OPSET), large), expected, atol=5e-6)


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "general"])
@pytest.mark.parametrize("method", ["gradcam++", "gradcam"])
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
def test_extreme_gradients(scale: float, method: str, closed: bool) -> None:
    rng = np.random.default_rng(2)
    x = np.maximum(rng.normal(size=(3, 8, 4, 5)), 0).astype(np.float32)
    weight = (scale * rng.normal(size=(6, 8))).astype(np.float32)
    cam = run(with_class_map(gap_linear(weight, closed=closed), "tap", method=method), "cam", {"x": x})
    classes = (x.astype(np.float64).mean((2, 3)) @ weight.T.astype(np.float64)).argmax(1)
    g = autograd(lambda a: a.mean((2, 3)) @ torch.tensor(weight).double().T, x, classes)
    np.testing.assert_allclose(cam, textbook_cam(x, g, method), atol=1e-5)


@pytest.mark.parametrize("end", ["Softmax", "LogSoftmax", "Sigmoid"])
def test_scores_of_200(end: str) -> None:
    """Probabilities of exactly 0 and 1 do not matter: the gradient is that of the logit."""
    x = np.ones((1, 2, 2, 2), np.float32) * np.float32([[[[1, 2], [3, 4]], [[4, 1], [1, 1]]]])
    weight = np.float32([[80, 1], [-80, 3], [5, 2]])
    runners = [session(with_class_map(gap_linear(weight, end=e), "tap")) for e in ("", end)]
    for wanted in (-1, 0, 1, 2):
        plain, cam = (r.run(["cam"], {"x": x, "saliency_class": np.array([wanted])})[0] for r in runners)
        np.testing.assert_array_equal(cam, plain)
        assert cam.max() == 1
    assert run(gap_linear(weight), "scores", {"x": x})[0, 0] > 200


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "general"])
@pytest.mark.parametrize("method", ["gradcam++", "gradcam"])
@pytest.mark.parametrize("epsilon", [0.0, 1e-7])
def test_dead_features_give_zero(method: str, epsilon: float, closed: bool) -> None:
    weight = np.float32([[1, 0, -1], [0, 0, 0], [2, 2, 2]])
    grown = with_class_map(gap_linear(weight, closed=closed), "tap", method=method, epsilon=epsilon)
    runner, x = session(grown), np.zeros((4, 3, 5, 5), np.float32)
    for wanted in (-1, 0, 1, 2):
        (cam,) = runner.run(["cam"], {"x": x, "saliency_class": np.array([wanted])})
        np.testing.assert_array_equal(cam, np.zeros((4, 5, 5)))


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "general"])
def test_vanishing_denominator_stays_finite(closed: bool) -> None:
    """Signed features can bring 2 + w·gap to 0 exactly, where the formula has no value."""
    x = np.float32([[[[-4, 2], [-3, 1]], [[1, 2], [3, 4]]]])
    weight = np.float32([[2, 1], [-2, 1]])
    assert 2 + weight[0, 0] * x[0, 0].mean() == 0
    for epsilon in (0.0, 1e-7):
        grown = with_class_map(gap_linear(weight, closed=closed), "tap", epsilon=epsilon)
        for wanted in (0, 1):
            cam = run(grown, "cam", {"x": x, "saliency_class": np.array([wanted])})
            assert np.isfinite(cam).all()
            assert cam.max() == 1


def test_class_selection() -> None:
    """−1 is the arg-max, one number is broadcast to all images, a number above the last class is the last."""
    weight = np.eye(3, dtype=np.float32)
    x = np.zeros((3, 3, 2, 2), np.float32)
    for image, channel in ((0, 2), (1, 0), (2, 1)):
        x[image, channel] = 2
    x[:, 0, 0, 0] += 1
    x[:, 1, 0, 1] += 1
    x[:, 2, 1, 0] += 1
    corner = {0: (0, 0), 1: (0, 1), 2: (1, 0)}
    grown = with_class_map(gap_linear(weight), "tap", method="gradcam")

    def classes(wanted: np.ndarray | None) -> list[int]:
        cam = run(grown, "cam", {"x": x} if wanted is None else {"x": x, "saliency_class": wanted})
        peaks = [np.unravel_index(m.argmax(), m.shape) for m in cam]
        return [next(c for c, place in corner.items() if place == peak) for peak in peaks]

    assert classes(None) == [2, 0, 1]
    assert classes(np.array([-1])) == [2, 0, 1]
    assert classes(np.array([1])) == [1, 1, 1]
    assert classes(np.array([0, -1, 2])) == [0, 0, 2]
    assert classes(np.array([-7, 99, 3])) == [2, 2, 2]


MINMAX = StepRunner(minmax(OPSET), np.zeros((1, 1, 1), np.float32), free=True)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6)),
              elements=st.floats(0, 2**60, width=32)))  # fmt: skip
def test_minmax(cam: np.ndarray) -> None:
    result = MINMAX(cam)
    assert np.isfinite(result).all()
    assert result.min() >= 0
    assert result.max() <= 1
    for one, image in zip(result, cam, strict=True):
        span = np.float64(image.max()) - image.min()
        if span <= 0.9e-6 * image.max():
            assert not one.any()
        elif span > 1.1e-6 * image.max() and span > 1e-30:
            np.testing.assert_allclose(one, normalise(image[None].astype(np.float64))[0], atol=1e-6)


def test_constant_map_upsampled_is_zero() -> None:
    """Upsampling rounds; the rounding error of a constant map is not stretched to 0…1."""
    enlarge = upsample(opset=OPSET, size_from=(3, 5), size_to=(97, 131))
    for value in (0.0, 0.1, 0.7, 123.456):
        large = run_step(enlarge, np.full((2, 3, 5), value, np.float32))
        np.testing.assert_array_equal(run_step(minmax(OPSET), large), np.zeros((2, 97, 131)))
