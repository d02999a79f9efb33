"""The compiled kernels, run by onnxruntime in place of the functions' bodies, against float64."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from fastcam_export import graft
from fastcam_export.authoring.ops import Step
from fastcam_export.cam import minmax
from fastcam_export.detect.class_map import largest_free, score_map
from fastcam_export.method.bilinear import upsample
from fastcam_export.method.class_maps import fast_cam, non_class
from fastcam_export.method.combine import combine
from fastcam_export.method.lovi import lovi
from fastcam_export.method.normalize import normalize
from fastcam_export.method.statistics import statistic
from fastcam_runtime import native
from fastcam_runtime.model.device import block as native_block
from support.compiled import compiled_session, feed, node_model
from support.networks import small_cnn
from support.oracle import method
from support.profiled import nodes_run
from support.shared_data import shared
from support.steps import step_model

pytestmark = pytest.mark.skipif(native.library_path() is None, reason=native.status())

THREADS = (1, 2)
FORMS = sorted(name for name in native.operators() if re.fullmatch(r"SmoeScale(Relu)?\d*", name))
"""Those that read planes of channels."""


def operators_run(model: bytes, feed: dict[str, np.ndarray], folder: Path) -> set[str]:
    """The types of all nodes that onnxruntime ran."""
    return {operator for _, operator in nodes_run(model, feed, folder, compiled=True)}


def smoe_step(epsilon: float = 1e-6) -> Step:
    return statistic(
        "smoe", opset=17, channels=8, height=None, width=None, epsilon=epsilon, nonnegative=False
    )


def smoe_session(threads: int = 1, epsilon: float = 1e-6) -> ort.InferenceSession:
    """One session for every shape: the kernel does not read the constants made for eight channels."""
    return compiled_session(
        step_model(smoe_step(epsilon), np.zeros((1, 8, 1, 1), np.float32), free=True), threads
    )


def assert_close_to_range(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    """Equal up to `tolerance` of each expected map's range; of its level where it has no range."""
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    spread = np.ptp(expected, axis=(1, 2), keepdims=True)
    level = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert (np.abs(found - expected) <= tolerance * np.where(spread > 0.01 * level, spread, level)).all()


def activations(seed: int) -> np.ndarray:
    """Signed activations of a random shape and magnitude, sparse or dense, with dead and equal pixels."""
    rng = np.random.default_rng(seed)
    channels = int(rng.choice([1, 2, 3, 5, 7, 8, 9, 16, 31, 96, 127, 128, 129, 200, 300, 1030]))
    height, width = rng.integers(1, 9 if channels > 300 else 40, 2)
    shape = (int(rng.integers(1, 4)), channels, int(height), int(width))
    low, high = np.sort(rng.uniform(-7, 8, 2))
    x = 10 ** rng.uniform(low, high, shape) * rng.uniform(-2, 10, shape)
    x[rng.random(shape) < rng.choice([0, 0.5, 0.95])] = 0
    x[:, :, 0, 0] = 0
    x[:, :, -1, -1] = x[:, :1, -1, -1]
    return x.astype(np.float32)


@pytest.mark.parametrize("threads", THREADS)
def test_smoe_is_the_formula_for_any_shape(threads: int) -> None:
    kernel = smoe_session(threads)
    for seed in range(120):
        x = activations(seed)
        found = feed(kernel, x)
        assert (found >= 0).all()
        assert (found[np.ptp(np.maximum(x, 0), axis=1) == 0] == 0).all()
        assert_close_to_range(found, method.smoe(x))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("shape", [(1, 96, 112, 112), (2, 64, 57, 61), (1, 2048, 7, 7)])
def test_smoe_of_a_large_layer(shape: tuple[int, ...], threads: int) -> None:
    rng = np.random.default_rng(0)
    x = np.maximum(rng.standard_normal(shape), 0).astype(np.float32)
    assert_close_to_range(feed(smoe_session(threads), x), method.smoe(x), 2e-6)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("relu", ["", "Relu"])
def test_smoe_of_blocks_is_that_of_planes(relu: str, threads: int) -> None:
    block = native_block() or 8  # an unknown processor accepts both sizes
    one = np.zeros((1, block, 1, 1), np.float32)
    planes = compiled_session(node_model("SmoeScale" + relu, one, epsilon=1e-6), threads)
    blocks = compiled_session(node_model("SmoeScaleBlocked" + relu, one, epsilon=1e-6, block=block), threads)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, rows, height, width = map(int, rng.integers(1, [4, 40 if seed % 8 else 4, 30, 30]))
        if seed % 8 == 0:  # large enough for several tiles and threads
            height, width = height + 60, width + 60
        x = rng.standard_normal((n, rows * block, height, width), np.float32)
        x = x if relu else np.abs(x)
        arranged = x.reshape(n, rows, block, height, width).transpose(0, 1, 3, 4, 2).reshape(x.shape)
        assert_close_to_range(feed(blocks, arranged), feed(planes, x), 2e-6)


@pytest.mark.parametrize("spread", [1e-1, 1e-2, 1e-3, 1e-5, 1e-6])
@pytest.mark.parametrize("channels", [2, 33, 512])
@pytest.mark.parametrize("level", [1e-3, 1.0, 1e9])
def test_nearly_equal_channels_keep_their_digits(level: float, channels: int, spread: float) -> None:
    rng = np.random.default_rng(1)
    x = (level * (1 + spread * rng.uniform(-1, 1, (1, channels, 9, 9)))).astype(np.float32)
    y = x.astype(np.float64) + 1e-6
    m = y.mean(axis=1)
    d = (y - m[:, None]) / m[:, None]  # m·(log2 m − mean log2 y) = m·mean(d − log(1 + d))/ln 2
    series = d**2 / 2 - d**3 / 3 + d**4 / 4 - d**5 / 5
    term = np.where(np.abs(d) < 1e-3, series, d - np.log1p(d))
    expected = m * term.mean(axis=1) / np.log(2)
    np.testing.assert_allclose(feed(smoe_session(), x), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-7, 1e-12, 1e-30])
def test_epsilon_is_the_attribute(epsilon: float) -> None:
    rng = np.random.default_rng(2)
    x = np.maximum(rng.standard_normal((1, 40, 6, 7)), 0).astype(np.float32)
    assert_close_to_range(feed(smoe_session(epsilon=epsilon), x), method.smoe(x, epsilon))


def test_values_beyond_any_layer_stay_finite() -> None:
    rng = np.random.default_rng(3)
    x = (10 ** rng.uniform(-40, 38, (1, 64, 8, 8))).astype(np.float32)
    assert_close_to_range(feed(smoe_session(), x), method.smoe(x))
    x[0, 3, :, 0] = np.nan
    x[0, 5, :, 1] = np.inf
    x[0, 7, :, 2] = -np.inf
    found = feed(smoe_session(), x)
    assert np.isfinite(found).all()
    without = x.copy()
    without[0, 3, :, 0] = 0
    np.testing.assert_array_equal(found[..., 0], feed(smoe_session(), without)[..., 0])


@pytest.mark.parametrize("shape", [(0, 8, 5, 5), (2, 8, 0, 5), (1, 1, 1, 1)])
def test_empty_and_smallest_tensors(shape: tuple[int, ...]) -> None:
    found = feed(smoe_session(), np.zeros(shape, np.float32))
    assert found.shape == (shape[0], *shape[2:])
    assert (found == 0).all()


def gauss_session() -> ort.InferenceSession:
    step = normalize("gauss", opset=17, height=None, width=None)
    return compiled_session(step_model(step, np.zeros((1, 1, 1), np.float32), free=True))


def test_gauss_is_the_formula_for_any_map() -> None:
    kernel = gauss_session()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        level, contrast = 10 ** rng.uniform(-9, 6), 10 ** rng.uniform(-4, 2)
        shape = (int(rng.integers(1, 4)), *rng.integers(1, 50, 2))
        s = (level * (1 + contrast * rng.gamma(2, size=shape))).astype(np.float32)
        np.testing.assert_allclose(feed(kernel, s), method.gauss(s), rtol=0, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 1e-20, 0.1, 3e7, np.nan, np.inf])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 7, 9)])
def test_gauss_of_a_constant_map_is_a_half(shape: tuple[int, ...], value: float) -> None:
    assert (feed(gauss_session(), np.full(shape, value, np.float32)) == 0.5).all()


def test_combine_is_the_weighted_mean_for_any_sizes() -> None:
    for seed in range(16):
        rng = np.random.default_rng(seed)
        size = (int(rng.integers(1, 90)), int(rng.integers(1, 90)))
        if seed % 8 == 0:  # large enough for more than one thread
            size = (448, 320)
        count = int(rng.integers(1, 6))
        sizes = [(int(h), int(w)) for h, w in rng.integers(1, 50, (count, 2))]
        maps = [rng.random((2, *s)).astype(np.float32) for s in sizes]
        weights = rng.uniform(0.1, 2, count)
        expected = method.combine(maps, weights, *size)
        fixed = combine(opset=17, sizes=sizes, size=size, weights=weights)
        free = combine(opset=17, sizes=[(None, None)] * count, size=(None, None), weights=weights)
        for step, data in ((fixed, maps), (free, [*maps, np.array(size)])):
            model = step_model(step, *data)
            for threads in THREADS:
                found = feed(compiled_session(model, threads), *data)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 8, 16, 32, 64])
def test_upsample_by_whole_factors(factor: int) -> None:
    rng = np.random.default_rng(factor)
    m = rng.random((3, 5, 7)).astype(np.float32)
    size = (5 * factor, 7 * factor)
    fixed = upsample(opset=17, size_from=(5, 7), size_to=size)
    free = upsample(opset=17, size_from=(None, None), size_to=(None, None))
    for step, data in ((fixed, [m]), (free, [m, np.array(size)])):
        found = feed(compiled_session(step_model(step, *data)), *data)
        np.testing.assert_allclose(found, method.bilinear(m, *size), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_lovi_is_the_formula_for_any_sizes(count: int, threads: int) -> None:
    sizes_to = [(37, 50), (64, 64)]
    if count == 5:  # large enough for more than one thread
        sizes_to.append((448, 320))
    for size in sizes_to:
        rng = np.random.default_rng(count)
        sizes = [(int(h), int(w)) for h, w in rng.integers(1, 40, (count, 2))]
        maps = [rng.random((2, *s)).astype(np.float32) for s in sizes]
        for m in maps:
            m[1] = 0  # black
        expected = method.lovi(maps, *size)
        fixed = lovi(opset=17, sizes=sizes, size=size)
        free = lovi(opset=17, sizes=[(None, None)] * count, size=(None, None))
        for step, data in ((fixed, maps), (free, [*maps, np.array(size)])):
            found = feed(compiled_session(step_model(step, *data), threads), *data)
            assert (found.dtype, found.shape) == (np.uint8, (2, *size, 3))
            assert not found[1].any()
            np.testing.assert_allclose(found, expected, rtol=0, atol=0.505)  # the nearest whole number


@pytest.mark.parametrize("count", [1, 3, 4, 5, 7])
def test_the_largest_over_strides_for_any_sizes(count: int, tmp_path: Path) -> None:
    for size in ((37, 50), (1, 1), (448, 320)):
        rng = np.random.default_rng(count)
        sizes = [(int(h), int(w)) for h, w in rng.integers(1, 40, (count, 2))]
        maps = [rng.random((2, *s)).astype(np.float32) for s in sizes]
        expected = np.max([method.bilinear(m, *size) for m in maps], axis=0)
        step, data = largest_free(opset=17, count=count), [*maps, np.array(size)]
        assert_kernel(step, data, expected, tmp_path)
        least, most = expected.min((1, 2), keepdims=True), expected.max((1, 2), keepdims=True)
        expected = (expected - least) / np.where(most > least, most - least, np.inf)
        step, data = (
            score_map(opset=17, sizes=sizes, size=size),
            [np.hstack([m.reshape(2, -1) for m in maps])],
        )
        assert_kernel(step, data, expected, tmp_path)


def test_a_score_map_of_usual_strides_reaches_0_and_1(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for sizes, size in (
        ([(52, 36), (26, 18), (13, 9)], (416, 288)),
        ([(8, 8), (4, 4), (2, 2), (1, 1)], (64, 64)),
    ):
        maps = [rng.random((3, *s)).astype(np.float32) ** 8 for s in sizes]
        for m in maps:
            m[2] = 0.3  # constant
        expected = np.max([method.bilinear(m, *size) for m in maps], axis=0)[:2]
        least, most = expected.min((1, 2), keepdims=True), expected.max((1, 2), keepdims=True)
        expected = np.concatenate([(expected - least) / (most - least), np.zeros((1, *size))])
        data = [np.hstack([m.reshape(3, -1) for m in maps])]
        found = assert_kernel(score_map(opset=17, sizes=sizes, size=size), data, expected, tmp_path)
        assert found.min() == 0
        assert found[:2].max((1, 2)).tolist() == [1, 1]


def assert_kernel(step: Step, data: list[np.ndarray], expected: np.ndarray, folder: Path) -> np.ndarray:
    """A kernel gives `expected`, in place of the function's body; the body gives it too."""
    model = step_model(step, *data)
    for threads in THREADS:
        found = feed(compiled_session(model, threads), *data)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)
    inputs = {f"in{k}": array for k, array in enumerate(data)}
    assert operators_run(model, inputs, folder) == {step.function.name}
    body = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(body.run(None, inputs)[0], expected, rtol=0, atol=2e-6)
    return found


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 7), (3, 40, 41)])
def test_the_class_map_steps_are_their_formulas(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(shape[2])
    cam, combined = (rng.random(shape).astype(np.float32) for _ in range(2))
    least, most = cam.min(axis=(1, 2), keepdims=True), cam.max(axis=(1, 2), keepdims=True)
    expected = (cam - least) / np.where(most > least, most - least, np.inf)
    np.testing.assert_allclose(
        feed(compiled_session(step_model(minmax(17), cam)), cam), expected, rtol=0, atol=1e-6
    )
    for step, product in ((fast_cam(17), combined * cam), (non_class(17), combined * (1 - cam))):
        found = feed(compiled_session(step_model(step, combined, cam)), combined, cam)
        np.testing.assert_allclose(found, product, rtol=0, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 1e-30, 0.3, 7e20])
def test_minmax_of_a_map_that_only_rounding_varies_is_zero(value: float) -> None:
    cam = np.full((2, 9, 9), value, np.float32)
    cam[0, 4, 4] *= np.float32(1 + 2e-7)
    assert (feed(compiled_session(step_model(minmax(17), cam)), cam) == 0).all()


@pytest.mark.parametrize(
    ("nonnegative", "bound"), [(True, None), (True, 6.0), (False, None)], ids=["relu", "relu6", "signed"]
)
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(
    "shape",
    [(1, 8, 3, 3), (1, 12, 3, 3), (1, 7, 3, 3), (1, 48, 80, 80), (1, 32, 96, 96), (1, 64, 64, 64)],
)
def test_every_form_of_smoe_has_its_kernel(
    shape: tuple[int, ...], free: bool, nonnegative: bool, bound: float | None, tmp_path: Path
) -> None:
    size = (None, None) if free else shape[2:]
    step = statistic(
        "smoe",
        opset=17,
        channels=shape[1],
        height=size[0],
        width=size[1],
        epsilon=1e-6,
        nonnegative=nonnegative,
        bound=bound,
    )
    x = np.ones(shape, np.float32)
    assert operators_run(step_model(step, x), {"in0": x}, tmp_path) == {step.function.name}


def test_the_library_has_twelve_forms_of_smoe() -> None:
    numbers = ["", *map(str, range(2, 13))]
    assert set(FORMS) == {f"SmoeScale{kind}{number}" for kind in ("", "Relu") for number in numbers}


@pytest.mark.parametrize("name", FORMS)
def test_every_number_of_a_form_of_smoe_has_its_kernel(name: str, tmp_path: Path) -> None:
    step = statistic(
        "smoe", opset=17, channels=8, height=3, width=3, epsilon=1e-6, nonnegative="Relu" not in name
    )
    step.function.name = name
    x = np.ones((1, 8, 3, 3), np.float32)
    assert operators_run(step_model(step, x), {"in0": x}, tmp_path) == {name}


@pytest.mark.parametrize("shape", ["float[1,3,64,64] input", "float[n,3,h,w] input"])
def test_the_kernels_replace_the_functions(shape: str, tmp_path: Path) -> None:
    model = graft(small_cnn(shape)).SerializeToString()
    ran = operators_run(model, {"input": np.ones((1, 3, 64, 64), np.float32)}, tmp_path)
    assert not {"Log", "Erf", "InstanceNormalization", "Resize", "MatMul"} & ran
    assert {name for name in ran if name.startswith(("SmoeScale", "GaussNormalize", "CombineScales"))}


def test_the_kernels_replace_the_functions_of_lovi_and_class_maps(tmp_path: Path) -> None:
    model = graft(small_cnn(), outputs=["lovi", "cam", "fastcam", "nonclass"]).SerializeToString()
    ran = operators_run(model, {"input": np.ones((1, 3, 64, 64), np.float32)}, tmp_path)
    assert {"Lovi", "Upsample", "MinMax", "FastCam", "NonClass"} <= ran


def same_maps(model: bytes, name: str, x: np.ndarray) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    standard = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in standard.get_outputs()]
    compiled = compiled_session(model)
    for key, a, b in zip(names, standard.run(None, {name: x}), compiled.run(None, {name: x}), strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-5 * max(1.0, float(np.abs(a).max())), err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["float[1,3,64,64] input", "float[n,3,h,w] input"])
def test_a_grafted_file_gives_the_same_maps_without_the_library(shape: str) -> None:
    outputs = ["saliency_map", "scales", "cam", "fastcam", "nonclass"]
    model = graft(small_cnn(shape), outputs=outputs).SerializeToString()
    batch, height, width = (1, 64, 64) if "1,3" in shape else (3, 80, 56)
    same_maps(model, "input", np.random.default_rng(1).standard_normal((batch, 3, height, width), np.float32))


@pytest.mark.slow
def test_mobilenet_gives_the_same_maps_without_the_library() -> None:
    path = shared("models/mobilenet_v2.onnx")
    model = graft(path, outputs=["saliency_map", "scales"]).SerializeToString()
    same_maps(model, "input", np.random.default_rng(2).standard_normal((2, 3, 224, 224), np.float32))
