"""The ranks that the retraining masks with begin at the most salient pixel, whatever made the map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.quality.retraining import protocol
from benchmarks.quality.retraining.small_resnet import small_resnet, up_to
from benchmarks.quality.retraining.trained_maps import TrainedMaps

PHOTOS = 3


@pytest.fixture
def network() -> nn.Sequential:
    torch.manual_seed(0)
    return small_resnet(4).eval()


@pytest.fixture
def tensors() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(PHOTOS, 3, 64, 64)).astype(np.float32))


@pytest.fixture
def maps(network: nn.Sequential, tensors: torch.Tensor, tmp_path: Path) -> TrainedMaps:
    pictures = np.random.default_rng(1).integers(0, 255, (PHOTOS, 64, 64, 3)).astype(np.uint8)
    pictures[:, 40:, 8:16] = 255  # edges
    return TrainedMaps(network, pictures, tensors, tmp_path, 0)


def _first(ranks: np.ndarray) -> list[int]:
    """The place of the first pixel of each map; the ranks are whole."""
    flat = ranks.reshape(len(ranks), -1)
    assert (np.sort(flat) == np.arange(flat.shape[1])).all()
    return flat.argmin(1).tolist()


@pytest.mark.slow
def test_ranks_of_a_scale_begin_at_its_highest_mean(
    maps: TrainedMaps, network: nn.Sequential, tensors: torch.Tensor
) -> None:
    for scale in range(1, 6):
        with torch.no_grad():
            means = up_to(network, scale)(tensors).mean(1).flatten(1)
        assert _first(maps.of_scale("mean", scale)) == means.argmax(1).tolist()


@pytest.mark.parametrize("method", ["smoe prior", "Grad-CAM", "smoe × Grad-CAM++"])
def test_ranks_of_the_files_maps_begin_at_the_highest(
    maps: TrainedMaps, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    made = np.random.default_rng(2).random((PHOTOS, 64, 64)).astype(np.float32)
    monkeypatch.setattr(maps, "_run", lambda names, **options: iter([[made]]))
    assert _first(maps.of_input(method)) == made.reshape(PHOTOS, -1).argmax(1).tolist()


def test_ranks_of_smoothgrad_begin_at_the_highest_gradient(
    maps: TrainedMaps, network: nn.Sequential, tensors: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise every copy has the gradient of the photo itself."""
    monkeypatch.setattr(protocol, "SMOOTHGRAD_NOISE", 0.0)
    monkeypatch.setattr(protocol, "SMOOTHGRAD_SAMPLES", 2)
    photos = tensors.clone().requires_grad_()
    network(photos).max(1).values.sum().backward()
    gradient: Any = photos.grad
    expected = gradient.square().sum(1).flatten(1).argmax(1)
    assert _first(maps.of_input(protocol.SMOOTHGRAD)) == expected.tolist()


def test_ranks_of_the_controls_begin_at_the_centre_and_at_an_edge(maps: TrainedMaps) -> None:
    for place in _first(maps.of_input("centre")):
        assert {place // 64, place % 64} <= {31, 32}
    ranks = maps.of_input("Sobel")
    assert ranks[:, 44:60, 10:14].mean() > ranks.mean()  # inside the flat stripe
