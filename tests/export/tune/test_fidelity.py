"""The similarity of two maps, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_export.tune import Fidelity
from fastcam_export.tune.fidelity import spearman, top_overlap
from scipy import stats


@pytest.mark.parametrize("values", [5, 50, 10**9], ids=["many ties", "ties", "no ties"])
def test_spearman_is_scipys(values: int) -> None:
    random = np.random.default_rng(values)
    a, b = random.integers(0, values, (2, 40, 30)).astype(np.float32)
    b = a + b
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a.ravel(), b.ravel()).statistic, abs=1e-12)
    assert spearman(a, -b) == pytest.approx(-spearman(a, b))
    assert spearman(a, a) == 1


def test_a_constant_map_has_no_order() -> None:
    flat, other = np.zeros((4, 4)), np.arange(16.0).reshape(4, 4)
    assert spearman(flat, flat + 1) == 1
    assert spearman(flat, other) == 0


def test_overlap_of_the_most_salient_tenth() -> None:
    random = np.random.default_rng(0)
    a = random.permutation(400).reshape(20, 20).astype(np.float32)
    b = a + 30 * random.standard_normal((20, 20)).astype(np.float32)
    top_a, top_b = (set(np.flatnonzero(m.ravel() > np.sort(m.ravel())[-41])) for m in (a, b))
    assert len(top_a) == len(top_b) == 40
    assert 0 < top_overlap(a, b) < 1
    assert top_overlap(a, b) == len(top_a & top_b) / 40
    assert top_overlap(a, a) == 1
    assert top_overlap(a, -a) == 0
    # A map with ties at the edge of the mask still has exactly a tenth in it.
    assert top_overlap(np.round(a, -2), np.round(a, -2)) == 1


def test_mean_and_worst() -> None:
    fidelity = Fidelity((1.0, 0.5, 0.9), (0.2, 0.6, 1.0))
    assert fidelity.mean == pytest.approx((0.8, 0.6))
    assert fidelity.worst == (0.5, 0.2)
