"""Every statistic except SMOE Scale, run by onnxruntime, against its float64 formula."""

from __future__ import annotations

import functools

import numpy as np
import onnx
import pytest
from fastcam_export import GraftError, graft
from fastcam_export.choices import COMPILED, PRE_ACTIVATION, STATISTICS
from fastcam_export.method.statistics import statistic
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from support.networks import network, small_cnn
from support.oracle import method
from support.oracle import statistics as oracle
from support.paths import GOLDEN
from support.running import run
from support.steps import StepRunner

RECTIFIED = {
    "std": oracle.std,
    "mean": oracle.mean,
    "max": oracle.maximum,
    "shannon": oracle.shannon,
}
TRUNCATED = {
    name: functools.partial(lambda x, i: oracle.truncnormal(x)[i], i=i)
    for i, name in enumerate(PRE_ACTIVATION)
}


LOGNORMAL = {"lognormal_mean", "lognormal_entropy"}


def test_every_statistic_is_compared_with_a_formula() -> None:
    assert {COMPILED, *RECTIFIED, *LOGNORMAL, *TRUNCATED} == set(STATISTICS)


@functools.cache
def runner(name: str, shape: tuple[int, ...], opset: int = 17, nonnegative: bool = False) -> StepRunner:
    step = statistic(
        name,
        opset=opset,
        channels=shape[1],
        height=shape[2],
        width=shape[3],
        epsilon=1e-6,
        nonnegative=nonnegative,
    )
    return StepRunner(step, np.zeros(shape, np.float32))


def assert_close(found: np.ndarray, expected: np.ndarray, level: np.ndarray | float = 0.0) -> None:
    """Within 1e-5 of the map's range; `level` bounds the resolution of float32 inputs."""
    assert np.isfinite(found).all()
    spread = np.ptp(expected, axis=(1, 2), keepdims=True)
    assert (np.abs(found - expected) <= 1e-5 * spread + 1e-6 * level + 1e-6).all()


@st.composite
def signed(draw: st.DrawFn) -> np.ndarray:
    """Pre-activations of any level: pixels far below 0, far above, equal channels, one channel."""
    shape = (
        draw(st.integers(1, 2)),
        draw(st.sampled_from((1, 2, 3, 8, 31, 64))),
        *draw(st.sampled_from(((1, 1), (3, 4)))),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shift = draw(st.floats(-40, 40))
    x = rng.standard_normal(shape) * 10 ** draw(st.floats(-2, 1)) + shift
    if draw(st.booleans()):
        x[:, :, 0, 0] = x[:, :1, 0, 0]
    return x.astype(np.float32)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(x=signed())
@pytest.mark.parametrize("name", RECTIFIED)
def test_rectified_statistics(name: str, x: np.ndarray) -> None:
    level = np.abs(x).max(axis=(1, 2, 3))[:, None, None]
    assert_close(runner(name, x.shape)(x), RECTIFIED[name](x), max(float(level.max()), 10.0))


@settings(max_examples=60, deadline=None)
@given(x=signed())
def test_lognormal_entropy(x: np.ndarray) -> None:
    """Where ln y differs between the channels by more than float32's rounding of it."""
    found, expected = runner("lognormal_entropy", x.shape)(x), oracle.lognormal_entropy(x)
    assert np.isfinite(found).all()
    resolved = np.log(oracle.positive(x)).std(axis=1) > 0.05
    assert (np.abs(found - expected)[resolved] <= 1e-5 * max(float(np.ptp(expected)), 2.0)).all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(x=signed())
@pytest.mark.parametrize("name", ["truncnormal_mean", "truncnormal_std"])
def test_truncated_normal(name: str, x: np.ndarray) -> None:
    assert_close(
        runner(name, x.shape)(x), oracle.truncnormal(x)[PRE_ACTIVATION.index(name)], float(np.abs(x).max())
    )


@settings(max_examples=60, deadline=None)
@given(x=signed())
def test_truncated_normal_entropy(x: np.ndarray) -> None:
    """Where the channels differ by more than float32's rounding of them, to 1e-5 of the map's range."""
    found, (_, _, expected) = runner("truncnormal_entropy", x.shape)(x), oracle.truncnormal(x)
    assert np.isfinite(found).all()
    resolved = x.astype(np.float64).std(axis=1) > 1e-4 * (1 + np.abs(x).max(axis=1))
    tolerance = 1e-5 * max(float(np.ptp(expected)), 1.0) + 1e-4 * (x.shape[1] < 3)
    assert (np.abs(found - expected)[resolved] <= 10 * tolerance).all()


@pytest.mark.parametrize("a", [-30.0, -3.0, 0.0, 1.9, 2.1, 4.0, 5.2, 8.0, 20.0, 300.0])
def test_the_tail_of_the_truncated_normal(a: float) -> None:
    """From a = 4 the reference is wrong, from 5.2 it is NaN; here two values, ±1 around the mean."""
    x = np.array([-a - 1, -a + 1], np.float32).reshape(1, 2, 1, 1)
    m, s = float(x.astype(np.float64).mean()), float(x.astype(np.float64).std())
    a = -m / s
    ratio = np.exp(-(a**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(-a))
    found = runner("truncnormal_mean", x.shape)(x).item()
    # For large a: ratio − a = 1/a − 2/a³ + 10/a⁵ − …, exact enough from 20 on, where the difference is not.
    expected = ratio - a if a < 20 else 1 / a - 2 / a**3 + 10 / a**5 - 74 / a**7
    assert found == pytest.approx(s * expected, rel=1e-5)


def test_entropy_far_below_zero_is_finite_and_falls() -> None:
    x = np.stack([np.array([-a - 1, -a + 1], np.float32) for a in (2, 4, 8, 50, 1e4)], axis=1).reshape(
        1, 2, 1, 5
    )
    found = runner("truncnormal_entropy", x.shape)(x).ravel()
    assert np.isfinite(found).all()
    assert (np.diff(found) < 0).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), low=st.floats(-6, 3), high=st.floats(3, 9))
def test_lognormal_mean_up_to_a_factor_where_float32_ends(seed: int, low: float, high: float) -> None:
    x = (10 ** np.random.default_rng(seed).uniform(low, high, (1, 8, 4, 4))).astype(np.float32)
    found, exponent = runner("lognormal_mean", x.shape)(x), oracle.lognormal_log_mean(x)
    expected = np.exp(exponent - max(float(exponent.max()) - 38, 0))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5 * expected.max())


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize("name", STATISTICS)
def test_all_opsets_and_dead_activations(name: str, opset: int) -> None:
    zeros = np.zeros((1, 8, 3, 3), np.float32)
    found = runner(name, zeros.shape, opset)(zeros)
    assert np.isfinite(found).all()
    # Lanes of a vector unit may round a logarithm's sum differently by a unit in the last place.
    assert np.ptp(found) <= 1e-6 * np.abs(found).max()


def test_decided_edges() -> None:
    dead = np.zeros((1, 8, 1, 1), np.float32)
    assert runner("shannon", dead.shape)(dead).item() == pytest.approx(3, abs=1e-5)
    one = np.full((1, 1, 1, 1), 7, np.float32)
    assert runner("std", one.shape)(one).item() == 0
    floor = np.log(1e-6) + 0.5 * np.log(2 * np.pi * np.e * oracle.LEAST_VARIANCE)
    assert runner("lognormal_entropy", dead.shape)(dead).item() == pytest.approx(floor, rel=1e-5)


def test_the_oracle_agrees_with_the_derived_vectors() -> None:
    """They use the unbiased deviation and ε = 1e-7; the formulas are the same."""
    data = np.load(GOLDEN / "derived_paper_only_stats.npz", allow_pickle=False)
    mean, std, entropy = oracle.truncnormal(data["in_signed"], ddof=1)
    for found, name in ((mean, "truncnorm_mean"), (std, "truncnorm_std"), (entropy, "truncnorm_ent_stable")):
        # Equal channels: undefined in the reference, defined here.
        defined = np.isfinite(data[name])
        assert defined.sum() > 50
        np.testing.assert_allclose(found[defined], data[name][defined], rtol=1e-9, atol=1e-9)
    relu = data["in_relu"]
    np.testing.assert_allclose(oracle.shannon(relu, 1e-7), data["shannon"], rtol=1e-9)
    alive = np.isfinite(data["lognormal_ent"])
    entropy = oracle.lognormal_entropy(relu, 1e-7, 1)
    np.testing.assert_allclose(entropy[alive], data["lognormal_ent"][alive], rtol=1e-9)
    np.testing.assert_allclose(
        np.exp(oracle.lognormal_log_mean(relu, 1e-7, 1)), data["lognormal_mean"], rtol=1e-9
    )


@pytest.mark.parametrize("name", ["std", "mean", "max"])
def test_the_reference_of_the_plain_statistics(name: str) -> None:
    data = np.load(GOLDEN / f"stat_{name}.npz", allow_pickle=False)
    for case in (
        key.removeprefix("in_") for key in data.files if key in ("in_relu", "in_dynrange", "in_equal")
    ):
        x = data[f"in_{case}"]
        expected = data[f"out64_{case}"] * (np.sqrt((x.shape[1] - 1) / x.shape[1]) if name == "std" else 1)
        np.testing.assert_allclose(runner(name, x.shape)(x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_grafts(name: str) -> None:
    grafted = graft(small_cnn(), statistic=name, normalize="range", outputs=["saliency_map", "scales"])
    taps = sorted(node.input[0] for node in grafted.graph.node if node.name.endswith(f"/{name}"))
    assert taps == (["c1", "c2", "c3"] if name in PRE_ACTIVATION else ["a1", "a2", "a3"])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float16, 1e-3)])
def test_what_lies_before_a_concatenation_of_activations(dtype: type, tolerance: float) -> None:
    """As in an Inception block: concatenations inside one another, and half precision.

    onnxruntime computes that in float32, and rounds only what the oracle here reads of it.
    """
    random = np.random.default_rng(0)
    kind = {np.float32: "float", np.float16: "float16"}[dtype]
    model = network(
        """
        c1 = Conv <strides=[2,2]> (input, w)
        c2 = Conv <strides=[2,2]> (input, v)
        a1 = Relu (c1)
        a2 = Relu (c2)
        inner = Concat <axis=1> (a1, a2)
        both = Concat <axis=1> (a2, inner)
        pooled = GlobalAveragePool (both)
        logits = Flatten (pooled)
        """,
        inputs=f"{kind}[1,3,32,32] input", output=f"{kind}[1,24] logits",
        **{name: random.standard_normal((8, 3, 3, 3)).astype(dtype) for name in "wv"},
    )  # fmt: skip
    x = random.standard_normal((1, 3, 32, 32)).astype(dtype)
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    plain.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("c1", "c2"))
    before = run(plain, input=x)
    parts = [before[name].astype(np.float32) for name in ("c2", "c1", "c2")]
    expected = method.stretch(oracle.truncnormal(np.concatenate(parts, axis=1))[0])
    grafted = graft(model, statistic="truncnormal_mean", normalize="range", outputs="scales")
    np.testing.assert_allclose(run(grafted, input=x)["saliency_scale_1"], expected, atol=tolerance)


def test_a_tap_without_an_activation_has_nothing_before_it() -> None:
    model = network(
        """
        c1 = Conv <kernel_shape=[3,3], strides=[2,2]> (input, w1)
        a1 = Relu (c1)
        n1 = LRN <size=3> (a1)
        c2 = Conv <kernel_shape=[3,3], strides=[2,2]> (n1, w2)
        pooled = GlobalAveragePool (c2)
        logits = Flatten (pooled)
        """,
        w1=np.ones((8, 3, 3, 3), np.float32), w2=np.ones((10, 8, 3, 3), np.float32),
    )  # fmt: skip
    with pytest.raises(GraftError, match=r"'n1' has no tensor before its activation.*LRN"):
        graft(model, statistic="truncnormal_mean")


@pytest.mark.parametrize("case", ["relu", "wide"])
def test_the_oracle_of_the_gamma_scale_is_the_reference(case: str) -> None:
    data = np.load(GOLDEN / "stat_gamma_scale.npz", allow_pickle=False)
    defined = np.isfinite(data[f"out64_{case}"])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = oracle.gamma_scale(data[f"in_{case}"])
    assert defined.any()
    np.testing.assert_allclose(found[defined], data[f"out64_{case}"][defined], rtol=1e-6)


def test_smoe_is_not_order_equivalent_to_the_gamma_scale() -> None:
    """Two columns that the two statistics rank differently, against the paper's claim."""
    data = np.load(GOLDEN / "order_equivalence_counterexample.npz", allow_pickle=False)
    x = data["inputs"].astype(np.float32)
    a, b = runner("smoe", x.shape)(x).ravel()
    assert a < b
    a, b = oracle.gamma_scale(data["inputs"]).ravel()
    assert a > b
    np.testing.assert_allclose([a, b], data["gamma_scale"].ravel(), rtol=1e-6)


def test_truncated_entropy_equals_the_reference_where_that_is_right() -> None:
    """The reference takes the unbiased deviation, and is wrong from a > 4; up to 3 the oracle is the same."""
    data = np.load(GOLDEN / "stat_truncnorm_ent.npz", allow_pickle=False)
    x = data["in_signed"].astype(np.float64)
    right = (-x.mean(axis=1) < 3 * x.std(axis=1, ddof=1)) & np.isfinite(data["out64_signed"])
    assert right.sum() > 40
    found = oracle.truncnormal(x, ddof=1)[2]
    np.testing.assert_allclose(found[right], data["out64_signed"][right], rtol=0, atol=2e-4)
