"""`fastcam bench --web`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastcam_runtime.cli.main import main
from support.chromium import find_chromium
from support.node import ort_web
from support.tiny_grafts import save_graft


@pytest.mark.browser
def test_plain_and_grafted_in_a_browser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if find_chromium() is None:
        pytest.skip("no Chromium to measure in")
    ort_web()
    report = tmp_path / "bench.json"
    model = save_graft(tmp_path / "model.onnx")
    assert main(["bench", str(model), "--web", "--rounds", "8", "--json", str(report)]) == 0
    printed = capsys.readouterr().out
    assert "onnxruntime-web 1.30.0, wasm, 1 thread" in printed
    assert "the median of 8 differences" in printed
    measured = json.loads(report.read_text())
    assert [len(variant["samples_ms"]) for variant in measured["variants"]] == [8, 8]


def test_baseline_and_too_few_rounds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(save_graft(tmp_path / "model.onnx"))
    assert main(["bench", model, "--web", "--baseline", model]) == 2
    assert "it takes no --baseline" in capsys.readouterr().err
    assert main(["bench", model, "--web", "--rounds", "2"]) == 2
    assert "at least 6 are needed" in capsys.readouterr().err
