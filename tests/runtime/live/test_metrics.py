"""Percentiles in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from fastcam_runtime.live import metrics as live_metrics
from fastcam_runtime.live.metrics import BUCKETS, CAPACITY, LoopMetrics, Samples, StageLatencies


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


def test_histogram_counts_every_sample_once() -> None:
    values = np.random.default_rng(1).exponential(300, 2000)
    samples = Samples()
    for value in values:
        samples.add(value)
    below = [int((values <= bound).sum()) for bound in BUCKETS]
    assert np.cumsum(samples.buckets).tolist() == [*below, len(values)]


def test_end_to_end_is_work_and_waiting() -> None:
    metrics = LoopMetrics()
    durations = {"capture": 30.0, "preprocess": 2.0, "inference": 40.0, "overlay": 3.0, "sink": 5.0}
    metrics.add(durations, end_to_end=100.0, waited=30.0)  # a camera's frame waited for 30 ms
    metrics.add(durations, end_to_end=100.0)  # reading a file took 30 ms
    assert metrics.stages.samples["waiting"].max == 50
    assert metrics.stages.samples["waiting"].mean == 35
    assert metrics.stages.samples["end to end"].mean == 100


def test_history_has_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(live_metrics.time, "monotonic", lambda: now[0])
    metrics = LoopMetrics()
    for moment in (1000.2, 1000.7, 1000.9, 1001.5, 1004.1, 1004.2):
        now[0] = moment
        metrics.add({}, end_to_end=1.0)
    assert metrics.recent_history() == [3, 1, 0, 0]  # second 1004 is not over
    now[0] = 1006.5
    assert metrics.recent_history() == [3, 1, 0, 0, 2, 0]
    assert metrics.age == pytest.approx(2.3)
    now[0] = 9000.0
    assert metrics.recent_history() == [0] * live_metrics.HISTORY_SECONDS
