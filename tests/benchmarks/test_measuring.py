"""The harness on a small network: every form, its footprint, a graft in its own process."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from support.networks import small_cnn

from benchmarks import graft, overhead
from benchmarks.measuring import forms, report
from benchmarks.measuring.footprint import footprint
from benchmarks.measuring.process_memory import memory_bytes, peak_bytes, reset_peak

SIZE = 64


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "plain.onnx"
    onnx.save(small_cnn(), path)
    return path


@pytest.fixture(scope="module")
def files(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> forms.Files:
    return forms.make_files(plain, tmp_path_factory.mktemp("forms"))


def open_all(files: forms.Files) -> dict[str, Any]:
    return {
        form.name: forms.open_form(files, form, 1) for form in (forms.PLAIN, *forms.available_forms(files))
    }


@pytest.mark.slow
def test_every_form_computes_the_same(files: forms.Files) -> None:
    sessions = open_all(files)
    assert {"plain", "naive", "standard", "standard+classes"} <= set(sessions)
    forms.check_equal(sessions, SIZE)


@pytest.mark.slow
def test_a_form_that_computes_something_else_is_not_timed(files: forms.Files, tmp_path: Path) -> None:
    model = onnx.load(files.naive)
    weights = next(tensor for tensor in model.graph.initializer if tensor.name == "w2")
    weights.raw_data = bytes(len(weights.raw_data))
    onnx.save(model, tmp_path / "other.onnx")
    other = dataclasses.replace(files, naive=tmp_path / "other.onnx")
    with pytest.raises(RuntimeError, match="the form 'naive' computes another 'logits'"):
        forms.check_equal(open_all(other), SIZE)


@pytest.mark.slow
def test_footprint(files: forms.Files) -> None:
    found = footprint(files, SIZE, loads=2, clock="wall")
    assert found["file_bytes"] == files.plain.stat().st_size
    standard = found["forms"]["standard"]
    assert standard["file_growth_bytes"] == files.grafted.stat().st_size - files.plain.stat().st_size
    assert found["memory"]["peak_bytes"] >= found["memory"]["held_bytes"] > 0
    assert found["load"]["median_ms"] > 0


def test_peak_is_seen_after_the_memory_is_free_again() -> None:
    reset_peak()
    before = memory_bytes()
    block = bytearray(b"x") * 64_000_000
    del block
    assert peak_bytes() - before > 60_000_000
    assert memory_bytes() - before < 30_000_000


@pytest.mark.slow
def test_graft_in_a_process_of_its_own(plain: Path, tmp_path: Path) -> None:
    found = graft.graft_once(plain, tmp_path / "grafted.onnx")
    assert (tmp_path / "grafted.onnx").exists()
    assert found["command_seconds"] > found["seconds"] > 0
    assert found["peak_bytes"] > 0


@pytest.mark.slow
def test_overhead_from_the_command_line_to_the_files(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part in (overhead, report):
        monkeypatch.setattr(part, "RESULTS", tmp_path)
    monkeypatch.setattr(overhead, "SIZE", SIZE)
    monkeypatch.setattr(overhead, "plain_file", lambda name, size: plain)
    assert (
        overhead.main(["--rounds", "3", "--networks", "mobilenet_v2", "--sizes", "64", "--loads", "0"]) == 0
    )
    saved = json.loads((tmp_path / "overhead.json").read_text())
    assert [(run["network"], run["threads"]) for run in saved["overhead"]] == [
        ("mobilenet_v2", 1),
        ("mobilenet_v2", 2),
    ]
    assert {"naive", "standard"} <= set(saved["overhead"][0]["forms"])
    assert saved["growth"] == saved["overhead"][:1], "existing measurements are not repeated"
    assert saved["config"]["rounds"] == 3
    samples = json.loads((tmp_path / "overhead.samples.json").read_text())["runs"]
    assert all(len(values) == 3 for run in samples for values in run["samples_ms"].values())
    printed = capsys.readouterr().out
    assert "MobileNetV2" in printed
    assert "missed" in printed


def test_an_unknown_network_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert overhead.main(["--networks", "resnet51"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: no network 'resnet51'; there are resnet18, resnet50")
    assert error.count("\n") == 1


def test_rounded_keeps_four_digits() -> None:
    assert report.rounded({"a": [123456.0, 0.000123456], "b": (1, "x")}) == {
        "a": [123500.0, 0.0001235],
        "b": [1, "x"],
    }
