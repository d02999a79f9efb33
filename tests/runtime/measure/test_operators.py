"""Time per operator, from the profile of a real run."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastcam_runtime.measure.operators import LAYOUT, MAPS, NETWORK, profile, sum_up
from fastcam_runtime.measure.paired import BenchOptions, open_variant
from support.profiled import nodes_run
from support.tiny_grafts import save_graft


def test_medians_are_added_up_by_part() -> None:
    runs = [
        ("conv1", "Conv", 100.0), ("conv2", "Conv", 50.0), ("ReorderOutput_1", "ReorderOutput", 7.0),
        ("fastcam/scale_1/smoe", "SmoeScale", 20.0), ("fastcam/resize", "Conv", 5.0),
        ("conv1", "Conv", 9000.0), ("conv2", "Conv", 50.0), ("ReorderOutput_1", "ReorderOutput", 7.0),
        ("fastcam/scale_1/smoe", "SmoeScale", 30.0), ("fastcam/resize", "Conv", 5.0),
        ("conv1", "Conv", 102.0), ("conv2", "Conv", 50.0), ("ReorderOutput_1", "ReorderOutput", 7.0),
        ("fastcam/scale_1/smoe", "SmoeScale", 25.0), ("fastcam/resize", "Conv", 5.0),
    ]  # fmt: skip
    found = [(one.part, one.operator, one.nodes, round(one.milliseconds, 6)) for one in sum_up(runs)]
    assert found == [
        (NETWORK, "Conv", 2, 0.152),
        (MAPS, "SmoeScale", 1, 0.025),
        (LAYOUT, "ReorderOutput", 1, 0.007),
        (MAPS, "Conv", 1, 0.005),
    ]


def test_every_node_that_ran_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graft = save_graft(tmp_path / "graft.onnx", size=(64, 96))
    options = BenchOptions(threads=1, provider="cpu", rounds=6, compiled=False)
    variant = open_variant("grafted", graft, options)
    monkeypatch.chdir(tmp_path)
    found = profile(variant, options)
    ran = nodes_run(graft.read_bytes(), variant.feed, tmp_path / "..", compiled=False)
    assert sum(one.nodes for one in found) == len(ran)
    ours = sum(name.startswith("fastcam/") for name, _ in ran)
    assert sum(one.nodes for one in found if one.part == MAPS) == ours > 0
    assert [path.name for path in tmp_path.iterdir()] == ["graft.onnx"]  # the profile is gone
