"""The pixels that the retraining keeps, on maps of which the salience is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fastcam_export.evaluate.measures.masks import ranking

from benchmarks.quality.retrain import Experiment
from benchmarks.quality.retraining import protocol
from benchmarks.quality.retraining.cells import MODES, Cell
from benchmarks.quality.retraining.imagenette import Photos
from benchmarks.quality.retraining.kept import kept, kept_by
from benchmarks.quality.retraining.small_resnet import small_resnet
from benchmarks.quality.retraining.trained_maps import TrainedMaps

MAP = np.array([[0.1, 0.9, 0.3, 0.4, 0.5], [0.6, 0.7, 0.8, 0.2, 1.0]])
"""Ten pixels, the most salient at the end of the second row."""


def _salience(cell: Cell) -> list[float]:
    """What the map has at the pixels that stay."""
    return sorted(MAP[kept_by(cell, ranking(MAP[None]))[0]])


@pytest.mark.parametrize(
    ("mode", "share", "stays"),
    [
        ("KAR", 0.1, [1.0]),
        ("KAR", 0.3, [0.8, 0.9, 1.0]),
        ("ROAR", 0.3, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ("ROAR", 0.9, [0.1]),
    ],
)
def test_in_photos_kar_keeps_and_roar_removes_the_most_salient(
    mode: str, share: float, stays: list[float]
) -> None:
    assert _salience(Cell("input", "smoe prior", mode, share, 0)) == stays


@pytest.mark.parametrize(("mode", "stays"), [("KAR", [1.0]), ("ROAR", [0.1])])
def test_in_layers_kar_keeps_the_most_salient_and_roar_the_least(mode: str, stays: list[float]) -> None:
    """2.5 % of ten pixels is less than one; one stays."""
    assert _salience(Cell("layer", "smoe", mode, 1, 0)) == stays


@pytest.mark.parametrize(
    ("side", "kar", "roar"), [(64, 102, 410), (32, 26, 102), (16, 6, 26), (8, 2, 6), (4, 1, 2)]
)
def test_layers_keep_the_papers_shares_of_their_pixels(side: int, kar: int, roar: int) -> None:
    ranks = ranking(np.random.default_rng(0).random((3, side, side)))
    for mode, count in (("KAR", kar), ("ROAR", roar)):
        mask = kept_by(Cell("layer", "smoe", mode, 1, 0), ranks)
        assert mask.sum((1, 2)).tolist() == [count] * 3
    assert kar == pytest.approx(0.025 * side**2, abs=1)
    assert roar == pytest.approx(0.1 * side**2, abs=1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("share", protocol.SHARES)
def test_photos_keep_exactly_the_asked_number_even_of_a_constant_map(mode: str, share: float) -> None:
    ranks = ranking(np.zeros((2, 64, 64))).astype(np.uint16)
    count = round((share if mode == "KAR" else 1 - share) * 4096)
    mask = kept_by(Cell("input", "smoe prior", mode, share, 0), ranks)
    assert mask.sum((1, 2)).tolist() == [count] * 2


@pytest.mark.parametrize("share", protocol.SHARES)
def test_what_kar_keeps_roar_of_the_same_share_removes(share: float) -> None:
    ranks = ranking(np.random.default_rng(0).random((2, 64, 64)))
    stays, goes = (kept_by(Cell("input", "smoe prior", mode, share, 0), ranks) for mode in MODES)
    assert np.array_equal(stays, ~goes)


@pytest.mark.parametrize("mode", MODES)
def test_at_least_one_pixel_stays_and_at_most_all(mode: str) -> None:
    ranks = ranking(MAP[None])
    assert kept(ranks, mode, 0.0).sum() == 1
    assert kept(ranks, mode, 1.0).all()


@pytest.fixture
def trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Experiment, list[torch.Tensor]]:
    """An experiment whose maps are most salient at the left, and what its networks were trained on."""
    random = np.random.default_rng(0)
    photos = Photos(random.integers(1, 255, (4, 64, 64, 3)).astype(np.uint8), np.arange(4) % 2)
    (tmp_path / "cache").mkdir()
    torch.manual_seed(0)
    torch.save(small_resnet(2).state_dict(), tmp_path / "cache" / "base-0.pt")
    experiment, seen = Experiment(photos, photos, tmp_path / "cache"), list[torch.Tensor]()

    def ranks(side: int) -> np.ndarray:
        return ranking(np.repeat(-np.arange(side)[None, None], side, 1).repeat(4, 0))

    def train(self: Experiment, network: Any, tensors: torch.Tensor, *others: Any) -> None:
        seen.append(tensors)
        network.eval()

    monkeypatch.setattr(TrainedMaps, "of_input", lambda self, method: ranks(64))
    monkeypatch.setattr(TrainedMaps, "of_scale", lambda self, method, scale: ranks(64 >> (scale - 1)))
    monkeypatch.setattr(Experiment, "_train", train)
    return experiment, seen


@pytest.mark.parametrize(
    ("mode", "share", "columns"), [("KAR", 0.5, range(32)), ("ROAR", 0.5, range(32, 64))]
)
def test_networks_are_trained_on_the_pixels_that_stay(
    trained_on: tuple[Experiment, list[torch.Tensor]], mode: str, share: float, columns: range
) -> None:
    experiment, seen = trained_on
    experiment.run(Cell("input", "smoe prior", mode, share, 0))
    assert _columns(seen[0]) == list(columns)


@pytest.mark.parametrize(("mode", "columns"), [("KAR", [0]), ("ROAR", [13, 14, 15])])
def test_layers_are_tuned_on_the_activations_that_stay(
    trained_on: tuple[Experiment, list[torch.Tensor]], mode: str, columns: list[int]
) -> None:
    """Of 256 pixels in columns of sixteen, KAR keeps 6 and ROAR 26; some activations are 0 anyway."""
    experiment, seen = trained_on
    experiment.run(Cell("layer", "smoe", mode, 3, 0))
    found = _columns(seen[0])
    assert found
    assert set(found) <= set(columns)


def _columns(tensors: torch.Tensor) -> list[int]:
    """The columns of the pictures that are not 0 everywhere."""
    return torch.nonzero(tensors.abs().sum((0, 1, 2))).flatten().tolist()
