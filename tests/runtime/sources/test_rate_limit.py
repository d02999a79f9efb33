"""Which frames of a faster camera are kept, with simulated times."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime.sources.rate_limit import RateLimit


def taken(fps: float | None, times: np.ndarray) -> np.ndarray:
    """The times at which a frame is kept."""
    limit = RateLimit(fps)
    return np.array([time for time in times if limit.accepts(time)])


@pytest.mark.parametrize("asked", [1.0, 7.5, 10.0, 20.0, 25.0, 29.97])
def test_a_faster_camera_is_brought_to_the_rate(asked: float) -> None:
    jitter = np.random.default_rng(0).uniform(-0.008, 0.008, 3000)
    times = 1000 + np.arange(3000) / 30 + jitter
    assert len(taken(asked, times)) == pytest.approx(100 * asked, abs=2)
    gaps = np.diff(taken(asked, times))
    assert gaps.max() < 1 / asked + 1 / 30 + 0.02  # evenly, not in bursts


@pytest.mark.parametrize("asked", [None, 30.0, 60.0, 1000.0])
def test_a_camera_that_is_not_faster_loses_nothing(asked: float | None) -> None:
    jitter = np.random.default_rng(1).uniform(-0.008, 0.008, 3000)
    times = np.arange(3000) / 30 + jitter
    assert len(taken(asked, times)) >= 2998


def test_after_a_gap_no_burst_follows() -> None:
    times = np.concatenate((np.arange(30) / 30, 60 + np.arange(30) / 30))
    assert (taken(10.0, times) >= 60).sum() <= 11
