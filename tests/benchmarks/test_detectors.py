"""Real detectors against their publishers' own decoding; the files are beside the checkout."""

from __future__ import annotations

import pytest
from support.shared_data import shared

from benchmarks.detectors import LEAST_IOU, PUBLICATIONS, measure


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yolox_nano.onnx", "yunet_n_640.onnx", "RFB-320.onnx"])
def test_boxes_are_those_of_the_publisher_and_the_peak_is_inside(name: str) -> None:
    row = measure(shared(f"models/detectors/{name}"), PUBLICATIONS[name], shared("data/coco80.zip"), 3)
    assert row.error == ""
    assert min(row.same_pixels) >= LEAST_IOU
    assert all(row.same_class)
    assert all(row.peaks)
    assert row.changed <= 1e-5
