"""The cost of maps on detectors: the figures of a small one, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.tiny_detector import export_tiny

from benchmarks import detector_costs
from benchmarks.costs import with_section
from benchmarks.paths import REFERENCE


@pytest.mark.slow
def test_a_small_detector_is_measured(tmp_path: Path) -> None:
    detector = tmp_path / "tiny.onnx"
    export_tiny("yolov8", str(detector))
    found = detector_costs.costs(detector, 6)
    assert found["file"] == "tiny.onnx"
    assert found["plain"]["median_ms"] > 0
    assert {"standard", "native"} <= found["forms"].keys()
    low, high = found["classes_on_top"]["native"]["interval_percent"]
    assert low <= found["classes_on_top"]["native"]["percent"] <= high


def test_the_page_has_the_committed_figures() -> None:
    reference = json.loads((REFERENCE / f"{detector_costs.NAME}.json").read_text(encoding="utf-8"))
    page = detector_costs.PAGE.read_text(encoding="utf-8")
    assert page == with_section(page, detector_costs.section(reference))
