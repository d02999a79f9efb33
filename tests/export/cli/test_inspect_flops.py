"""`fastcam inspect --flops`: the paper's table for another network."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from fastcam_runtime.cli.main import main
from support.networks import small_cnn


def test_the_table_follows_from_the_papers_formulas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SMOE: H·W·(4C+1). Normalisation: 12·H·W. Combination: 4.5 per pixel of the picture, then 6.75."""
    path = tmp_path / "model.onnx"
    onnx.save(small_cnn("float[1,3,64,96] input", channels=(5, 7, 11)), path)
    assert main(["inspect", "--flops", str(path)]) == 0
    out = capsys.readouterr().out
    rows = [line.replace(",", "").split() for line in out.splitlines()]
    assert rows[0] == [
        *("scale", "channels", "height", "width"),
        *("SMOE", "normalise", "combine", "total"),
    ]
    expected = []
    for number, (channels, height, width) in enumerate([(5, 32, 48), (7, 16, 24), (11, 8, 12)], start=1):
        smoe, norm = height * width * (4 * channels + 1), 12 * height * width
        combine = int((4.5 if number == 1 else 6.75) * 64 * 96)
        expected.append([number, channels, height, width, smoe, norm, combine, smoe + norm + combine])
    assert [list(map(int, row)) for row in rows[1:4]] == expected
    sums = [sum(row[k] for row in expected) for k in range(4, 8)]
    assert rows[4] == ["total", *map(str, sums)]
    assert f"{sums[-1]:,} operations per frame for saliency_map" in out


def test_a_grafted_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, grafted = tmp_path / "model.onnx", tmp_path / "grafted.onnx"
    onnx.save(small_cnn(), path)
    assert main(["export", str(path), str(grafted)]) == 0
    assert main(["inspect", "--flops", str(grafted)]) == 2
    assert "--flops counts the maps of the plain network" in capsys.readouterr().err
