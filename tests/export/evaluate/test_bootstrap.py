"""Intervals: against scipy, and how often they miss a mean that is known."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from fastcam_export.evaluate import bootstrap
from fastcam_export.evaluate.bootstrap import Estimates, estimate, estimate_difference, student_t, tail_share
from scipy import stats

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _normal(random: np.random.Generator, count: int) -> np.ndarray:
    return random.standard_normal(count)


def _skewed(random: np.random.Generator, count: int) -> np.ndarray:
    """Skewness 1, mean 0."""
    return random.gamma(4, size=count) - 4


def _very_skewed(random: np.random.Generator, count: int) -> np.ndarray:
    """Skewness 2, mean 0."""
    return random.exponential(size=count) - 1


@pytest.mark.parametrize(
    ("count", "draw", "most"),
    [
        (6, _normal, 0.085),
        (6, _skewed, 0.10),
        (6, _very_skewed, 0.13),
        (10, _normal, 0.08),
        (10, _skewed, 0.08),
        (10, _very_skewed, 0.11),
        (30, _normal, 0.065),
        (30, _very_skewed, 0.07),
    ],
)
def test_few_values_whose_true_mean_is_0_seldom_exclude_it(count: int, draw: Draw, most: float) -> None:
    """The plain percentile interval is wrong in 15, 17, 20, 12, 12, 15, 8 and 7.5 % of these cases."""
    random, cases = np.random.default_rng(7), 800
    wrong = sum(estimate(draw(random, count).tolist()).excludes_zero for _ in range(cases)) / cases
    assert 0.03 < wrong < most


@pytest.mark.parametrize("count", [5, 6, 10, 30, 1000, 50_000])
def test_the_tail_is_that_of_students_t(count: int) -> None:
    t = stats.t.ppf(0.975, count - 1)
    assert student_t(0.975, count - 1) == pytest.approx(t, rel=4e-4)
    exact = stats.norm.cdf(-math.sqrt(count / (count - 1)) * t)
    assert tail_share(count) == pytest.approx(exact, rel=4e-3)
    assert tail_share(count) < 0.025


def test_the_interval_of_two_to_four_values_reaches_about_as_far_as_they_do() -> None:
    for values in ([0.1, 0.2], [0.1, 0.2, 0.4], [0.1, 0.2, 0.4, 0.5]):
        found = estimate(values)
        assert (found.low, found.high) == pytest.approx((min(values), max(values)), abs=0.02)


def test_the_interval_is_scipys_of_the_wider_confidence() -> None:
    for count in (8, 60):
        values = np.random.default_rng(2).normal(0.3, 1, count)
        ours = estimate(values.tolist())
        exact = stats.norm.cdf(-math.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1))
        theirs = stats.bootstrap(
            (values,), np.mean, confidence_level=1 - 2 * exact, method="percentile", n_resamples=20_000,
            random_state=1,
        )  # fmt: skip
        width = theirs.confidence_interval.high - theirs.confidence_interval.low
        assert ours.mean == pytest.approx(values.mean())
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.05 * width)


def test_only_an_interval_on_one_side_of_zero_excludes_it() -> None:
    assert estimate([0.1, 0.2, 0.3]).excludes_zero
    assert not estimate([-0.1, 0.2, 0.3, -0.4]).excludes_zero


def test_one_value_has_no_interval_and_proves_nothing() -> None:
    found = estimate([0.4])
    assert found.mean == 0.4
    assert np.isnan([found.low, found.high]).all()
    assert not found.excludes_zero
    assert found.as_dict() == {"mean": 0.4, "low": None, "high": None}


def test_a_paired_interval_is_narrower_than_what_the_pictures_have_in_common() -> None:
    random = np.random.default_rng(4)
    common, own = 5 * random.standard_normal(50), 0.1 * random.standard_normal((2, 50))
    gap = estimate_difference((common + own[0] + 0.2).tolist(), (common + own[1]).tolist())
    theirs = stats.bootstrap((own[0] + 0.2 - own[1],), np.mean, method="percentile", random_state=1)
    assert (gap.low, gap.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.01)
    assert gap.low > 0


def _wrong(length: int, block: int, memory: float, cases: int) -> float:
    """How often the interval misses 0, the true mean of an autoregressive series of this coefficient."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(cases):
        series = [0.0]
        for noise in random.standard_normal(length + 20):
            series.append(memory * series[-1] + noise)
        wrong += estimate(series[21:], block).excludes_zero
    return wrong / cases


def test_blocks_widen_the_interval_of_values_that_follow_one_another() -> None:
    """An autoregressive series of coefficient 0.8: its mean varies 3 times as much as that of white noise."""
    assert _wrong(400, 1, 0.8, 100) > 0.35
    assert _wrong(400, 30, 0.8, 100) < 0.1


def test_the_whole_blocks_are_what_an_interval_counts() -> None:
    """Of 60 values in tens: the plain percentile interval is wrong in 13 % of the cases."""
    assert 0.02 < _wrong(60, 10, 0.4, 400) < 0.08


def test_fewer_than_two_blocks_have_no_interval() -> None:
    assert np.isnan(estimate([1.0, 2.0, 3.0], block=10).low)
    assert np.isnan(estimate([float(k) for k in range(19)], block=10).low)
    assert np.isfinite(estimate([float(k) for k in range(20)], block=10).low)


@pytest.mark.parametrize("block", [1, 10])
def test_thousands_of_values_need_little_memory(block: int) -> None:
    """All resamples at once would need 160 MB for 5,000 values, and more with blocks."""
    values = np.random.default_rng(0).random(5_000).tolist()
    tracemalloc.start()
    estimate(values, block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("block", [1, 10])
def test_the_parts_make_no_difference(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(64).tolist()
    whole = estimate(values, block)
    monkeypatch.setattr(bootstrap, "_BYTES", 16 * 64 * 7)
    assert estimate(values, block) == whole


def test_an_estimate_is_found_by_its_values_and_block() -> None:
    known, values = Estimates(), [0.1, 0.5, 0.2, 0.4]
    assert known.of(values) is known.of(tuple(values)) is known.of_difference(values, [0.0] * 4)
    assert known.of(values, 2) == estimate(values, 2) != known.of(values)
    values.append(0.9)
    assert known.of(values) == estimate(values)
