"""What single options cost: a small network is measured, and every row of the page is a measured one."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from support.networks import small_cnn

from benchmarks import options
from benchmarks.costs import COSTS
from benchmarks.paths import REFERENCE
from benchmarks.tables.option_table import option_row, option_table


@pytest.mark.parametrize(
    ("given", "compiled"), [({"frame_input": "48x64"}, True), ({"target": "nnapi"}, False)]
)
def test_an_option_is_measured(
    given: dict[str, str], compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(small_cnn(), tmp_path / "small.onnx")
    monkeypatch.setattr(options, "DETECTORS", tmp_path)
    monkeypatch.setattr(options, "RESULTS", tmp_path / "results")
    found = options.cost(options.Case("--option", "small.onnx", given, compiled=compiled), 6)
    assert found["network"] == "small.onnx"
    assert found["plain"]["median_ms"] > 0
    low, high = found["added"]["interval_percent"]
    assert low <= found["added"]["percent"] <= high


def test_every_case_is_on_the_page() -> None:
    reference = json.loads((REFERENCE / f"{options.NAME}.json").read_text(encoding="utf-8"))
    page = COSTS.read_text(encoding="utf-8")
    assert option_table(reference) in page
    assert [(row["option"], row["network"]) for row in reference["options"]] == [
        (case.option, case.title) for case in options.CASES
    ]


def test_a_row_has_a_sign_and_its_interval() -> None:
    added = {"median_ms": -0.123, "percent": -1.24, "interval_percent": [-2.0, 0.51]}
    row = option_row({"option": "--x", "network": "n", "plain": {"median_ms": 10.04}, "added": added})
    assert row == ["`--x`", "n", "10.0 ms", "−0.12 ms", "−1.2 % [−2.0, 0.5]"]
