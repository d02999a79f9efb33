"""Percentiles in bounded memory."""

from __future__ import annotations

import numpy as np
from fastcam_runtime.live.metrics import CAPACITY, Samples, StageLatencies


def test_exact_while_they_fit() -> None:
    values = np.random.default_rng(0).exponential(5, 1000)
    samples = Samples()
    for value in values:
        samples.add(value)
    for percent in (50, 90, 99):
        assert np.isclose(samples.percentile(percent), np.percentile(values, percent), rtol=1e-5)
    assert np.isclose(samples.mean, values.mean())
    assert samples.max == values.max()


def test_close_when_they_do_not() -> None:
    """A slow drift: a window of the last samples, or only the first ones, would be far off."""
    values = np.linspace(0, 100, 20 * CAPACITY)
    samples = Samples()
    for value in values:
        samples.add(value)
    assert samples.count == values.size
    assert samples._kept.size == CAPACITY
    assert abs(samples.percentile(50) - 50) < 3
    assert abs(samples.percentile(90) - 90) < 3
    assert samples.max == 100
    assert np.isclose(samples.mean, 50)


def test_without_samples() -> None:
    assert Samples().summary() == {"mean": 0, "p50": 0, "p90": 0, "p99": 0, "max": 0, "count": 0}


def test_stages_that_a_frame_did_not_pass() -> None:
    stages = StageLatencies(["read", "draw"])
    stages.add({"read": 1.0, "draw": 2.0})
    stages.add({"read": 3.0})
    assert [samples.count for samples in stages.samples.values()] == [2, 1]
    assert stages.samples["read"].mean == 2
