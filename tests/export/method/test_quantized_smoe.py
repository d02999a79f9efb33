"""SMOE Scale of uint8 and int8 activations in standard operators, against its float64 formula."""

from __future__ import annotations

import itertools

import numpy as np
import onnxruntime as ort
import pytest
from fastcam_export.authoring.ops import Step
from fastcam_export.method.statistics import statistic
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import method
from support.steps import OPSETS, run_step, step_model

TYPES = [(np.uint8, 0), (np.uint8, 117), (np.uint8, 255), (np.int8, -128), (np.int8, 0), (np.int8, -3)]
SCALE = 0.0235
SIZES = [12, 60]
"""The parts at once, and by turns."""
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")

both_forms = pytest.mark.parametrize("integer_sums", [False, True])


def smoe(
    shape: tuple[int, ...], *, integer_sums: bool, nonnegative: bool = True, bound: float | None = None,
    epsilon: float = 1e-6, opset: int = 13, free: bool = False,
) -> Step:  # fmt: skip
    height, width = (None, None) if free else shape[2:]
    return statistic(
        "smoe", opset=opset, channels=shape[1], height=height, width=width, epsilon=epsilon, bound=bound,
        nonnegative=nonnegative, quantized=True, integer_sums=integer_sums,
    )  # fmt: skip


def layer(shape: tuple[int, ...], dtype: type, zero: int) -> np.ndarray:
    """Random integers, half of them at the zero point; extreme pixels in the first rows."""
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    x = np.where(rng.random(shape) < 0.5, zero, rng.integers(info.min, info.max + 1, shape))
    x[:, :, 0] = info.max
    x[:, :, 1] = zero
    x[:, 1:, 2] = zero
    x[:, 0, 2] = info.max
    x[:, ::2, 3] = info.max
    return x.astype(dtype)


def assert_smoe(found: np.ndarray, x: np.ndarray, scale: float, zero: int, epsilon: float = 1e-6) -> None:
    """The map of the dequantised tensor; exactly 0 where all channels are equal."""
    real = np.maximum(np.float64(np.float32(scale)) * (x.astype(np.float64) - zero), 0)
    expected = method.smoe(real, epsilon=epsilon)
    assert np.isfinite(found).all()
    assert (found[np.ptp(real, axis=1) == 0] == 0).all()
    # Less than 1e-6 of the mean becomes 0, give or take the rounding of log2.
    resolved = 1.5e-6 * np.maximum(real.mean(axis=1) + epsilon, expected).max()
    assert np.abs(found - expected).max() <= 1e-5 * np.ptp(expected) + resolved


@both_forms
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("dtype", "zero"), TYPES)
@pytest.mark.parametrize("positive", [False, True])
def test_body_is_the_formula(positive: bool, dtype: type, zero: int, size: int, integer_sums: bool) -> None:
    """Behind a ReLU no integer is below the zero point, whichever that is."""
    x = layer((2, 96, size, size), dtype, zero)
    positive = positive or zero == np.iinfo(dtype).min
    x = np.maximum(x, dtype(zero)) if positive else x
    for shape, free in itertools.product([(), (1,)], [False, True]):
        step = smoe(x.shape, integer_sums=integer_sums, nonnegative=positive, free=free)
        in_integers = "MatMulInteger" in {node.op_type for node in step.function}
        assert in_integers == (integer_sums and positive)
        inputs = x, np.full(shape, SCALE, np.float32), np.full(shape, zero, dtype)
        assert_smoe(run_step(step, *inputs, free=free), x, SCALE, zero)


@both_forms
@pytest.mark.parametrize("channels", [1, 7, 16, 48, 100, 127, 1280])
def test_equal_channels_give_zero(channels: int, integer_sums: bool) -> None:
    plane = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    x = np.ascontiguousarray(np.broadcast_to(plane, (1, channels, 16, 16)))
    step = smoe(x.shape, integer_sums=integer_sums, bound=255 * SCALE)
    assert not run_step(step, x, np.array(SCALE, np.float32), np.array(0, np.uint8)).any()


EPSILONS = (1e-37, 1e-30, 1e-12, 1e-9, 1e-7, 1e-6, 1e-2, 0.99)


def fits(scale: float, epsilon: float, channels: int, kind: tuple[type, int], integer_sums: bool) -> None:
    """Compare the map, with the bound that a scale and zero point state."""
    dtype, zero = kind
    x = np.maximum(layer((1, channels, 9, 8), dtype, zero), dtype(zero))
    scale = float(np.float32(scale))
    bound = scale * (np.iinfo(dtype).max - zero)
    step = smoe(x.shape, integer_sums=integer_sums, bound=bound, epsilon=epsilon)
    found = run_step(step, x, np.array(scale, np.float32), np.array(zero, dtype))
    assert_smoe(found, x, scale, zero, epsilon)


@both_forms
@settings(max_examples=150, deadline=None)
@given(
    exponent=st.floats(-37.5, 7),
    epsilon=st.sampled_from(EPSILONS),
    channels=st.sampled_from((1, 6, 7, 8, 9, 10, 64, 90, 100)),
    kind=st.sampled_from(TYPES),
)
def test_the_products_fit_every_scale(
    exponent: float, epsilon: float, channels: int, kind: tuple[type, int], integer_sums: bool
) -> None:
    """Up to the documented limit: activations of 4e9."""
    fits(10**exponent, epsilon, channels, kind, integer_sums)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("factors", range(2, 11))
def test_scales_around_the_largest_whose_products_fit(factors: int, epsilon: float) -> None:
    """Products of so many ε leave the rest of float32's 252 binary orders to the bound."""
    room = 2 ** ((252 + min(0, factors * np.log2(epsilon))) / factors)
    for width in (room, 2 ** (128 / factors)):
        for share in (0.8, 0.9, 0.97, 1.0, 1.03, 1.1, 1.25):
            scale = share * width / 255
            if scale > 1e-30 and 255 * scale < 4e9:
                fits(scale, epsilon, 2 * factors, (np.uint8, 0), True)


@pytest.mark.slow
@both_forms
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("opset", OPSETS)
def test_every_opset_and_optimisation_level(opset: int, size: int, integer_sums: bool) -> None:
    for dtype, zero in ((np.uint8, 0), (np.int8, -128), (np.int8, 0)):
        x = np.maximum(layer((1, 96, size, size), dtype, zero), dtype(zero))
        inputs = x, np.array(SCALE, np.float32), np.array(zero, dtype)
        step = smoe(x.shape, integer_sums=integer_sums, bound=255 * SCALE, opset=opset)
        for level in LEVELS:
            options = ort.SessionOptions()
            options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
            session = ort.InferenceSession(
                step_model(step, *inputs), options, providers=["CPUExecutionProvider"]
            )
            found = session.run(None, {f"in{i}": array for i, array in enumerate(inputs)})[0]
            assert_smoe(found, x, SCALE, zero)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_without_integer_sums_the_integers_are_only_dequantised(nonnegative: bool, size: int) -> None:
    """Accelerators have no Reshape of raw integers."""
    step = smoe((1, 96, size, size), integer_sums=False, nonnegative=nonnegative)
    assert [node.op_type for node, _ in step.function.inputs[0].uses()] == ["DequantizeLinear"]


@both_forms
def test_parts_of_signed_activations_get_their_epsilon_in_the_cache(integer_sums: bool) -> None:
    step = smoe((1, 96, 60, 60), integer_sums=integer_sums, nonnegative=False)
    parts = [node.outputs[0] for node in step.function if node.op_type == "Gather"]
    assert len(parts) > 1
    assert all([node.op_type for node, _ in part.uses()] == ["Add"] for part in parts)
