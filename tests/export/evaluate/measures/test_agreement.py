"""Rank correlation, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
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
