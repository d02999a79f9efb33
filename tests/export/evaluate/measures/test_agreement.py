"""Rank correlation, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.evaluate.measures.agreement import agreement, known_pairs, rank_correlation
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


def test_nothing_is_said_of_a_constant_map() -> None:
    flat, other = np.zeros((4, 4)), np.arange(16.0).reshape(4, 4)
    assert agreement(flat, other) is agreement(other, flat) is agreement(flat, flat) is None
    assert agreement(other, -other) == -1
    for value in (np.nan, np.inf):
        broken = other.copy()
        broken[0, 0] = value
        assert agreement(broken, other) is agreement(other, broken) is None


def test_pairs_are_of_the_pictures_that_have_both() -> None:
    assert known_pairs([0.1, None, 0.3, 0.4], [None, 0.2, 0.5, 0.6]) == ([0.3, 0.4], [0.5, 0.6])
    with pytest.raises(ValueError, match="zip"):
        known_pairs([0.1], [])
