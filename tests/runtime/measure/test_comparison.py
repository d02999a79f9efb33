"""Two results of `fastcam bench` side by side, and their conditions."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.measure.comparison import compare, read_report
from fastcam_runtime.measure.conditions import conditions, describe
from support.tiny_grafts import save_graft


def report(milliseconds: float, spread: float, **others: Any) -> dict[str, Any]:
    samples = (milliseconds + spread * np.random.default_rng(1).standard_normal(200)).tolist()
    return {"variants": [{"name": "grafted", "samples_ms": samples, "cpu_samples_ms": samples}], **others}


def test_a_change_is_told_from_noise() -> None:
    slower, same = compare(report(10, 0.1), report(11, 0.1)), compare(report(10, 3), report(10.05, 3.1))
    assert [change.clock for change in slower] == ["wall", "CPU"]
    assert slower[0].percent == pytest.approx(10, abs=0.5)
    assert slower[0].interval[0] < 10 < slower[0].interval[1]
    assert not slower[0].within_noise
    assert same[0].within_noise


def test_reports_without_cpu_time_are_compared_by_the_wall_clock() -> None:
    old = report(10, 1)
    del old["variants"][0]["cpu_samples_ms"]
    assert [change.clock for change in compare(old, report(10, 1))] == ["wall"]


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    cases = {
        "gone.json": (None, "No such file"),
        "text.json": ("hello", "not JSON"),
        "list.json": ("[1]", "no report of 'fastcam bench --json'"),
        "empty.json": ('{"variants": []}', "no report"),
    }
    for name, (text, message) in cases.items():
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(FastcamError, match=message):
            read_report(tmp_path / name)
    other = {"variants": [{"name": "baseline", "samples_ms": [1.0]}]}
    with pytest.raises(FastcamError, match="nothing to compare: one has grafted, the other baseline"):
        compare(report(1, 0), other)


def test_conditions_of_a_raspberry_pi(tmp_path: Path) -> None:
    files = {
        "devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
        "class/thermal/thermal_zone0/type": "cpu-thermal\n",
        "class/thermal/thermal_zone0/temp": "61234\n",
        "devices/platform/soc/soc:firmware/get_throttled": "50005\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = conditions(tmp_path)
    assert (found["governor"], found["temperature_celsius"], found["throttled"]) == ("ondemand", 61.234, True)
    assert abs((datetime.now(timezone.utc) - datetime.fromisoformat(found["date"])).total_seconds()) < 60
    assert "governor ondemand, 61 °C, throttled" in describe(found)
    empty = conditions(tmp_path / "nothing")
    assert (empty["governor"], empty["temperature_celsius"], empty["throttled"]) == (None, None, None)


def test_bench_writes_csv_and_profile_and_its_results_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graft = save_graft(tmp_path / "graft.onnx", size=(64, 96))
    first, second, table = (tmp_path / name for name in ("a.json", "b.json", "a.csv"))
    settings = ["--threads", "1", "--rounds", "6", "--json"]
    assert main(["bench", str(graft), *settings, str(first), "--csv", str(table), "--profile"]) == 0
    printed = capsys.readouterr().out
    assert "in CPU time" in printed
    assert "operator" in printed
    found = json.loads(first.read_text())
    assert {"version", "date", "cores", "governor", "temperature_celsius", "load"} <= set(found["conditions"])
    assert {one["part"] for one in found["operators"]} >= {"maps", "network"}
    rows = list(csv.DictReader(table.open()))
    assert [row["variant"] for row in rows] == ["plain"] * 6 + ["grafted"] * 6
    for key, column in (("samples_ms", "wall_ms"), ("cpu_samples_ms", "cpu_ms")):
        written = [float(row[column]) for row in rows[6:]]
        assert written == pytest.approx(found["variants"][1][key], abs=1e-6)
    assert main(["bench", str(graft), *settings, str(second), "--no-native"]) == 0
    capsys.readouterr()
    assert main(["bench", "--compare", str(first), str(second)]) == 0
    printed = capsys.readouterr().out
    assert "grafted" in printed
    assert "kernels: " in printed


def test_bench_needs_a_model_or_two_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench"]) == 2
    assert "name a MODEL to measure" in capsys.readouterr().err
    assert main(["bench", "model.onnx", "--compare", "a.json", "b.json"]) == 2
    assert "leave model.onnx out" in capsys.readouterr().err
