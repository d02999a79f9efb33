"""A miniature of the retraining: two classes, few pictures, one epoch; and its file of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import cv2
import numpy as np
import pytest

from benchmarks.quality.json_lines import read_results
from benchmarks.quality.retrain import Experiment, run_cells
from benchmarks.quality.retraining import protocol
from benchmarks.quality.retraining.cells import MODES, WHOLE, Cell, Results, accuracies, planned
from benchmarks.quality.retraining.imagenette import Photos


def _photos(count: int, seed: int) -> Photos:
    """Bright discs against bright squares, anywhere on noise."""
    random = np.random.default_rng(seed)
    pictures = random.integers(0, 60, (count, 64, 64, 3)).astype(np.uint8)
    labels = np.arange(count) % 2
    for picture, label in zip(pictures, labels, strict=True):
        x, y = (int(value) for value in random.integers(16, 48, 2))
        if label:
            cv2.circle(picture, (x, y), 12, (250, 40, 40), -1)
        else:
            cv2.rectangle(picture, (x - 10, y - 10), (x + 10, y + 10), (40, 40, 250), -1)
    return Photos(pictures, labels.astype(np.int64))


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.setattr(protocol, "EPOCHS", 1)
    monkeypatch.setattr(protocol, "TUNE_EPOCHS", 1)
    return Experiment(_photos(64, 0), _photos(30, 1), tmp_path / "cache")


@pytest.mark.slow
def test_cells_of_both_experiments_run_and_a_second_run_adds_nothing(
    experiment: Experiment, tmp_path: Path
) -> None:
    cells = [
        Cell(WHOLE, "none", "KAR", 1.0, 0),
        Cell("layer", "smoe", "KAR", 5, 0),
        Cell("layer", "random", "ROAR", 2, 0),
        Cell("input", "smoe prior", "KAR", 0.3, 0),
        Cell("input", "random", "KAR", 0.5, 0),
    ]
    path = tmp_path / "results.jsonl"
    assert run_cells(experiment, cells, Results(path), 600) == 5
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["method"] for line in lines] == ["none", "smoe", "random", "smoe prior", "random"]
    for line in lines:  # a share of the thirty validation photos
        assert 0 <= line["accuracy"] <= 1
        assert 30 * line["accuracy"] == pytest.approx(round(30 * line["accuracy"]))
    with path.open("a") as file:
        file.write('{"protocol": 1, "experim')  # a run that was killed
    assert run_cells(experiment, cells, Results(path), 600) == 0


def test_no_cell_is_begun_when_the_time_is_up(experiment: Experiment, tmp_path: Path) -> None:
    cells = [Cell("layer", "smoe", "KAR", 5, 0)]
    assert run_cells(experiment, cells, Results(tmp_path / "r.jsonl"), -1) == 0


def test_a_cell_is_kept_that_follows_on_half_a_line(tmp_path: Path) -> None:
    class Counting:
        """Every cell has another accuracy."""

        runs = 0

        def run(self, cell: Cell) -> float:
            self.runs += 1
            return self.runs / 10

    experiment = cast(Experiment, Counting())
    path, cells = tmp_path / "results.jsonl", [Cell("layer", "smoe", mode, 5, 0) for mode in MODES]
    assert run_cells(experiment, cells, Results(path), 600) == 2
    path.write_bytes(path.read_bytes()[:-30])  # a run that was killed
    assert run_cells(experiment, cells, Results(path), 600) == 1
    again = Results(path)
    assert [again.accuracy(cell) for cell in cells] == [0.1, 0.3]
    assert run_cells(experiment, cells, again, 600) == 0


def test_a_cell_with_two_lines_counts_once(tmp_path: Path) -> None:
    """Two lines of the same cell are in files that were written before the plan had it once."""
    cell, results = Cell("input", "random", "KAR", 0.5, 0), Results(tmp_path / "results.jsonl")
    for found in (0.4, 0.5):
        results.add(cell, found)
    assert Results(tmp_path / "results.jsonl").accuracy(cell) == 0.4
    assert accuracies(read_results(tmp_path / "results.jsonl")) == {cell: 0.4}


def test_a_cell_of_another_version_of_the_plan_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, path = Cell("layer", "smoe", "KAR", 5, 0), tmp_path / "results.jsonl"
    Results(path).add(cell, 0.4)
    monkeypatch.setattr(protocol, "VERSION", protocol.VERSION + 1)
    assert Results(path).accuracy(cell) is None


def test_the_plan_has_every_cell_once() -> None:
    cells = list(planned(seeds=[0]))
    layers = [cell for cell in cells if cell.experiment == "layer"]
    inputs = [cell for cell in cells if cell.experiment == "input"]
    assert len(set(layers)) == len(layers) == 10 * 5 * 2
    # Random pixels: KAR of a share is ROAR of the rest, and is run once.
    assert len(set(inputs)) == len(inputs) == 14 * 5 * 2 + 5
    assert {cell.seed for cell in planned()} == set(protocol.SEEDS)
    assert f"all {len(list(planned()))} cells" in str(protocol.__doc__)
