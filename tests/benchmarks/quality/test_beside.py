"""Measurements beside the study: their files of results, and the weights that are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastcam_export.method.weights import PRIOR

from benchmarks.quality.beside.running import save
from benchmarks.quality.beside.weight_candidates import interpolated_prior


def test_networks_that_were_measured_before_stay(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    save(path, {"A": {"map": [0.1]}, "B": {"map": [0.2]}})
    save(path, {"B": {"map": [0.3]}})
    assert json.loads(path.read_text()) == {"A": {"map": [0.1]}, "B": {"map": [0.3]}}


def test_the_interpolated_prior_is_the_papers_where_it_has_a_weight() -> None:
    assert interpolated_prior(5) == pytest.approx(PRIOR)
    assert interpolated_prior(3) == pytest.approx([PRIOR[0], PRIOR[2], PRIOR[4]])
    six = interpolated_prior(6)
    assert (six[0], six[5]) == pytest.approx((PRIOR[0], PRIOR[4]))
    # The second of six stands at 0.8 of the way from the first of five to the second.
    assert six[1] == pytest.approx(0.2 * PRIOR[0] + 0.8 * PRIOR[1])
