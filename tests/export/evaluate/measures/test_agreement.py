"""Rank correlation and intervals, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.bootstrap import estimate, estimate_difference
from fastcam_export.evaluate.measures.agreement import rank_correlation
from scipy import stats


def test_rank_correlation_is_scipys_with_and_without_ties() -> None:
    random = np.random.default_rng(0)
    one = random.random((20, 30))
    other = one + random.random((20, 30))
    tied = np.round(other * 3)
    for second in (other, tied, -tied):
        assert rank_correlation(one, second) == pytest.approx(stats.spearmanr(one.ravel(), second.ravel())[0])


def test_a_constant_map_agrees_with_nothing() -> None:
    assert rank_correlation(np.ones((4, 4)), np.arange(16.0).reshape(4, 4)) == 0


def test_the_interval_is_scipys_percentile_bootstrap() -> None:
    values = np.random.default_rng(2).normal(0.3, 1, 60)
    ours = estimate(values.tolist())
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=4000, random_state=1)
    assert ours.mean == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.03)


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


def test_blocks_widen_the_interval_of_values_that_follow_one_another() -> None:
    """An autoregressive series of coefficient 0.8: its mean varies 3 times as much as that of white noise."""
    random = np.random.default_rng(5)
    covered = {1: 0, 30: 0}
    for _ in range(100):
        series = [0.0]
        for noise in random.standard_normal(400):
            series.append(0.8 * series[-1] + noise)
        for block in covered:
            found = estimate(series[1:], block)
            covered[block] += found.low < 0 < found.high
    assert covered[1] < 65
    assert covered[30] > 80


def test_fewer_values_than_a_block_have_no_interval() -> None:
    assert np.isnan(estimate([1.0, 2.0, 3.0], block=10).low)
