"""Rank correlation and intervals, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.agreement import rank_correlation
from fastcam_export.evaluate.bootstrap import estimate
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
