"""The page about one device that `fastcam bench --report` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastcam_runtime.cli.main import main
from fastcam_runtime.measure.device_page import PERCENTILES, markdown
from support.tiny_grafts import save_graft

ARGUMENTS = ["--rounds", "6", "--threads", "1"]


def rows(page: str) -> dict[str, list[str]]:
    """The cells of all tables by the first one."""
    lines = [line.strip("| ") for line in page.splitlines() if line.startswith("|")]
    return {cells[0]: cells[1:] for cells in ([c.strip() for c in line.split("|")] for line in lines)}


def test_every_form_is_on_the_page_and_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_graft(tmp_path / "net.onnx")
    assert main(["bench", str(model), *ARGUMENTS, "--report", str(tmp_path / "new/board.json")]) == 0
    report = json.loads((tmp_path / "new/board.json").read_text())
    page = capsys.readouterr().out.rstrip("\n") + "\n"
    assert page == markdown(report)
    first, *_, last = report["forms"]
    assert (first, last) == ("standard operators", "by default")
    table = rows(page)
    for name, times in {"plain": report["plain"], **report["forms"]}.items():
        assert table[name][:4] == [f"{times['wall_ms'][key]:.2f}" for key in PERCENTILES]
    assert table["throttled"] == ["not told"] * 2 or set(table["throttled"]) <= {"yes", "no"}
    assert report["conditions"]["before"]["date"] <= report["conditions"]["after"]["date"]
    assert str(tmp_path) not in json.dumps(report)


def test_a_page_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_graft(tmp_path / "net.onnx")
    assert main(["bench", str(model), *ARGUMENTS, "--report", str(tmp_path / "board.md")]) == 0
    assert (tmp_path / "board.md").read_text().startswith("# fastcam on ")
    capsys.readouterr()


def test_conditions_of_a_hot_board_are_told() -> None:
    state = {"date": "d", "governor": "ondemand", "temperature_celsius": 81.2, "throttled": True, "load": 0.5}
    times = {"load_ms": 1.0, "wall_ms": dict.fromkeys(PERCENTILES, 2.0), "cpu_ms": {"p50": 2.0}}
    before = {**state, "throttled": False, "temperature_celsius": 44.0}
    cost = {"percent": 10.0, "interval": [0.1, 0.3]}
    page = markdown(
        {
            "device": {"name": "Board", "cores": 4, "memory_bytes": 8e9, "versions": {"onnxruntime": "1"}},
            "model": {"file": "m.onnx", "bytes": 1e6, "sha256": "0"},
            "runs": {"rounds": 6, "warm_up": 10, "threads": 1, "kernels": "k"},
            "conditions": {"before": before, "after": state},
            "plain": times,
            "forms": {"by default": {**times, "cost": {"wall": cost, "cpu": cost}}},
        }
    )
    table = rows(page)
    assert table["throttled"] == ["no", "yes"]
    assert table["temperature, °C"] == ["44.0", "81.2"]
    assert table["by default"][-3:] == ["+10.0 %", "+10.0 %", "+5.0 … +15.0 %"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--report", "board.txt"], "a report is a .md or a .json file"),
        (["--report", "board.md", "--profile"], "leave --profile out"),
        (["--report", "board.md", "--no-native"], "it takes --threads and --rounds only"),
    ],
)
def test_mistakes(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    model = save_graft(tmp_path / "net.onnx")
    assert main(["bench", str(model), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_only_a_grafted_file_has_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_graft(tmp_path / "plain.onnx", graft=False)
    assert main(["bench", str(model), "--report", str(tmp_path / "board.md")]) == 2
    assert "a report needs a grafted .onnx file" in capsys.readouterr().err
    assert not (tmp_path / "board.md").exists()
