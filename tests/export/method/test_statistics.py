"""Each statistic, run by onnxruntime, against its float64 formula."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from fastcam_export.authoring.ops import Step
from fastcam_export.method.statistics import statistic
from fastcam_runtime.errors import FastcamError
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import method
from support.steps import OPSETS, StepRunner, run_step

CHANNELS = (1, 2, 3, 4, 7, 8, 16, 24, 30, 96, 256)
SIZES = ((1, 1), (1, 6), (3, 3), (5, 4))


@functools.cache
def runner(
    name: str,
    shape: tuple[int, ...],
    *,
    nonnegative: bool = True,
    bound: float | None = None,
    opset: int = 17,
    fused: bool = False,
) -> StepRunner:
    channels, height, width = shape[1:]
    step = statistic(
        name,
        opset=opset,
        channels=channels,
        height=height,
        width=width,
        epsilon=1e-6,
        nonnegative=nonnegative,
        bound=bound,
        fused=fused,
    )
    return StepRunner(step, np.zeros(shape, np.float32))


@st.composite
def activations(draw: st.DrawFn) -> np.ndarray:
    """Non-negative activations of any magnitude up to 1e9, with exact zeros, dead pixels, equal columns."""
    shape = (draw(st.integers(1, 2)), draw(st.sampled_from(CHANNELS)), *draw(st.sampled_from(SIZES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low, high = sorted(draw(st.tuples(st.floats(-7, 8), st.floats(-7, 8))))
    x = 10 ** rng.uniform(low, high + 0.0, shape) * rng.uniform(0, 10, shape)
    x[rng.random(shape) < draw(st.sampled_from((0, 0.5, 0.95)))] = 0
    if draw(st.booleans()):
        x[:, :, 0, 0] = 0
    if draw(st.booleans()):
        x[:, :, -1, -1] = x[:, :1, -1, -1]
    return x.astype(np.float32)


def assert_close_to_range(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    """Equal up to `tolerance` of each expected map's range."""
    assert np.isfinite(found).all()
    spread = np.ptp(expected, axis=(1, 2), keepdims=True)
    level = np.abs(expected).max(axis=(1, 2), keepdims=True)
    # A map of one pixel, or of equal pixels, has no range: its level is used instead.
    scale = np.where(spread > 0.01 * level, spread, level)
    assert (np.abs(found - expected) <= tolerance * scale).all()


def assert_smoe(found: np.ndarray, x: np.ndarray, epsilon: float = 1e-6) -> None:
    """The formula's map; exactly 0 where all channels are equal."""
    expected = method.smoe(x, epsilon=epsilon)
    equal = np.ptp(x, axis=1) == 0
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found[equal] == 0).all()
    # In addition to 1e-5 of the range: nearly equal channels are resolved to 1e-6 of their mean.
    mean = x.mean(axis=1, dtype=np.float64) + epsilon
    resolved = 1e-6 * np.maximum(mean, expected).max(axis=(1, 2), keepdims=True)
    spread = np.ptp(expected, axis=(1, 2), keepdims=True)
    assert (np.abs(found - expected) <= 1e-5 * spread + resolved).all()


@settings(max_examples=300, deadline=None)
@given(activations())
def test_smoe_is_the_formula(x: np.ndarray) -> None:
    assert_smoe(runner("smoe", x.shape)(x), x)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(activations(), st.sampled_from((1.0, 6.0, 31.9)))
def test_smoe_of_bounded_activations_is_the_formula(x: np.ndarray, bound: float) -> None:
    x = np.minimum(x, np.float32(bound))
    assert_smoe(runner("smoe", x.shape, bound=bound)(x), x)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [None, 6.0])
@pytest.mark.parametrize("channels", [48, 96, 64, 144])
def test_smoe_of_a_large_tensor_at_the_ends_of_its_range(channels: int, bound: float | None) -> None:
    shape = (2, channels, 80, 70)
    rng = np.random.default_rng(channels)
    x = 10 ** rng.uniform(-7, 9, shape)
    x[rng.random(shape) < 0.3] = 0
    x[:, :, 0] = 0
    x[:, :, 1] = 1e9
    x[:, 1:, 2] = 0  # one channel has the whole sum
    x[:, 0, 2] = 1e9
    x = np.minimum(x, bound or 1e9).astype(np.float32)
    step = statistic(
        "smoe", opset=17, channels=channels, height=80, width=70, epsilon=1e-6, nonnegative=True, bound=bound
    )
    assert "Gather" in {node.op_type for node in step.function}
    assert_smoe(run_step(step, x), x)


BOUNDS = (0.0, 1e-3, 1.0, 6.0, 1e3, 3.4e38, None)
EPSILONS = (1e-30, 1e-12, 1e-9, 1e-7, 1e-6, 1e-2, 1.0)
DIVISORS = (1, 6, 7, 8, 9, 10, 64, 90)
HARDEST = {
    (3.4e38, 1e-30): (1, 6, 8), (3.4e38, 1e-12): (6, 8, 9, 10, 64), (3.4e38, 1e-9): (8, 64),
    (1e3, 1e-30): (6, 8, 64), (1e3, 1e-12): (8, 10, 64), (1e3, 1e-9): (6, 10), (1e3, 1e-7): (6, 7, 10),
    (1e3, 1e-6): (6, 7, 8, 64), (1e3, 1e-2): (7, 8, 9, 10, 64, 90),
    (6.0, 1e-9): (7,), (6.0, 1e-7): (8, 9, 64, 90), (6.0, 1e-6): (9, 10, 90),
    (0.0, 1e-12): (6,), (0.0, 1e-9): (8, 64), (0.0, 1e-7): (10,),
    (None, 1.0): (8,), (None, 1e-6): (64,),
}  # fmt: skip
"""Numbers of channels by (bound, epsilon): for every form of the function, its widest range."""
CASES = [(*key, channels) for key, several in HARDEST.items() for channels in several]


def small_smoe(bound: float | None, epsilon: float, channels: int, *, fused: bool = False) -> Step:
    return statistic(
        "smoe", opset=17, channels=channels, height=9, width=8, epsilon=epsilon, nonnegative=True,
        bound=bound, fused=fused,
    )  # fmt: skip


@pytest.mark.slow
def test_the_hardest_cases_have_every_form() -> None:
    def forms(cases: Iterable[tuple[float | None, float, int]]) -> set[tuple[str, ...]]:
        # By their operators: the sizes of the parts differ with the number of channels.
        return {tuple(node.op_type for node in small_smoe(*case).function) for case in cases}

    assert forms(CASES) == forms(itertools.product(BOUNDS, EPSILONS, DIVISORS))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("bound", "epsilon", "channels"), CASES)
def test_the_products_fit_any_bound_and_epsilon(
    bound: float | None, epsilon: float, channels: int, fused: bool
) -> None:
    step = small_smoe(bound, epsilon, channels, fused=fused)
    largest = min(1e9, 1e9 if bound is None else bound)
    x = np.random.default_rng(0).uniform(0, largest, (1, channels, 9, 8)).astype(np.float32)
    x[0, ::2, 0] = 0
    x[0, 1::2, 0] = largest
    x[0, : channels // 2, 1] = 0
    x[0, channels // 2 :, 1] = largest
    x[0, 1:, 2] = 0
    x[0, :, 3] = 0
    x[0, :, 4] = largest
    assert_smoe(run_step(step, x), x, epsilon)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("magnitude", [1e-4, 1.0, 1e4, 1e9])
@pytest.mark.parametrize(
    "shape", [(2, 8, 7, 5), (2, 96, 7, 5), (2, 2048, 7, 5), (1, 64, 65, 67), (2, 272, 40, 30)]
)
def test_smoe_of_a_typical_layer_keeps_five_digits(
    shape: tuple[int, ...], magnitude: float, fused: bool
) -> None:
    rng = np.random.default_rng(shape[1])
    x = (np.maximum(rng.standard_normal(shape), 0) * magnitude).astype(np.float32)
    assert_close_to_range(runner("smoe", x.shape, fused=fused)(x), method.smoe(x))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 4, 15, 16, 48, 100, 127, 251, 256, 1004, 1280, 1920, 2048])
@pytest.mark.parametrize("size", [16, 64])
def test_smoe_of_equal_channels_is_exactly_0(channels: int, size: int, fused: bool) -> None:
    rng = np.random.default_rng(channels)
    column = (10 ** rng.uniform(-8, 9, (1, 1, size, size))).astype(np.float32)
    x = np.repeat(column, channels, axis=1)
    assert not runner("smoe", x.shape, fused=fused)(x).any()


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("channels", CHANNELS)
def test_smoe_of_signed_activations_starts_with_a_relu(channels: int, fused: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, channels, 5, 4)).astype(np.float32)
    found = runner("smoe", x.shape, nonnegative=False, fused=fused)(x)
    assert_close_to_range(found, method.smoe(np.maximum(x, 0)))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("channels", [3, 8])
@pytest.mark.parametrize("opset", OPSETS)
def test_smoe_with_free_sizes_in_every_opset(opset: int, channels: int, fused: bool) -> None:
    x = np.random.default_rng(1).gamma(0.3, 1, (3, channels, 7, 5)).astype(np.float32)
    step = statistic(
        "smoe", opset=opset, channels=channels, height=None, width=None, epsilon=1e-6, nonnegative=True,
        fused=fused,
    )  # fmt: skip
    assert_close_to_range(run_step(step, x, free=True), method.smoe(x))
    assert_close_to_range(runner("smoe", x.shape, opset=opset, fused=fused)(x), method.smoe(x))


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("nonnegative", [True, False])
def test_smoe_of_large_tensors_in_every_opset(opset: int, nonnegative: bool) -> None:
    x = np.random.default_rng(opset).standard_normal((2, 32, 91, 97)).astype(np.float32)
    x = np.maximum(x, 0) if nonnegative else x
    found = runner("smoe", x.shape, opset=opset, nonnegative=nonnegative)(x)
    assert_close_to_range(found, method.smoe(x))


def test_epsilon_is_used() -> None:
    x = np.random.default_rng(2).gamma(0.3, 1, (1, 8, 4, 4)).astype(np.float32)
    x[0, ::2] = 0
    step = statistic("smoe", opset=17, channels=8, height=4, width=4, epsilon=1e-3, nonnegative=True)
    assert_close_to_range(run_step(step, x), method.smoe(x, epsilon=1e-3))


def test_an_unknown_name_gets_candidates() -> None:
    with pytest.raises(FastcamError, match=r"no statistic named 'smoo'; closest: smoe"):
        statistic("smoo", opset=17, channels=8, height=4, width=4, epsilon=1e-6, nonnegative=True)
