"""Other packages' maps in the study are those of the network and class that they should be."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from benchmarks.quality import study_plan
from benchmarks.quality.peer_maps import PeerMaps
from benchmarks.quality.retraining.small_resnet import small_resnet, up_to

Maps = dict[str, np.ndarray]
TENSOR = np.random.default_rng(0).normal(size=(3, 64, 64)).astype(np.float32)
STEPS = 6
"""Of Integrated Gradients; the study has more."""


def _network() -> Any:
    torch.manual_seed(0)
    return small_resnet(4).eval()


@pytest.fixture(scope="module")
def found(torchvision: ModuleType) -> Maps:
    """The maps, with hardly any noise, so that they are known. Another picture came before."""
    pytest.importorskip("pytorch_grad_cam")
    pytest.importorskip("captum")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_plan, "SMOOTHGRAD_NOISE", 1e-7)
        patch.setattr(study_plan, "SMOOTHGRAD_SAMPLES", 5)
        patch.setattr(study_plan, "IG_STEPS", STEPS)
        peers = PeerMaps(_network, lambda network: (network[3], network[4]))
        peers(TENSOR[:, ::-1].copy())
        return peers(TENSOR)


def _gradient(picture: np.ndarray, target: int) -> np.ndarray:
    """Of the score of class `target`, 3×H×W, in float64."""
    values = torch.from_numpy(picture[None].astype(np.float64)).requires_grad_()
    _network().double()(values)[0, target].backward()
    gradient: Any = values.grad
    return gradient[0].numpy()


def _target() -> int:
    with torch.no_grad():
        return int(_network()(torch.from_numpy(TENSOR[None])).argmax())


def _close(one: np.ndarray, other: np.ndarray) -> None:
    """The same but for float32."""
    assert np.ptp(other) > 0
    assert np.abs(one - other).max() <= 1e-4 * np.abs(other).max()


def test_lafam_is_the_mean_of_the_last_layer(found: Maps) -> None:
    with torch.no_grad():
        last = up_to(_network(), 5)(torch.from_numpy(TENSOR[None]))[0].mean(0).numpy()
    assert last.shape == (4, 4)
    _close(found["LaFAM"], cv2.resize(last, (64, 64), interpolation=cv2.INTER_LINEAR))


def test_the_gradient_is_autograds(found: Maps) -> None:
    gradient = _gradient(TENSOR, _target())
    _close(found["gradient"], np.abs(gradient).sum(0))
    _close(found["SmoothGrad²"], (gradient**2).sum(0))


def test_integrated_gradients_are_the_integral_from_black(found: Maps) -> None:
    """By Gauss and Legendre, as captum has it, on the way from 0 to the picture."""
    places, weights = np.polynomial.legendre.leggauss(STEPS)
    gradients = [_gradient((place + 1) / 2 * TENSOR, _target()) for place in places]
    integral = np.tensordot(weights / 2, gradients, 1)
    _close(found["Integrated Gradients"], np.abs(TENSOR * integral).sum(0))


def test_every_map_has_the_pictures_size_and_says_something(found: Maps) -> None:
    names = {"LayerCAM", "EigenCAM", "XGradCAM", "LayerCAM of two", "LaFAM"}
    assert set(found) == names | {"gradient", "SmoothGrad²", "Integrated Gradients"}
    for values in found.values():
        assert values.shape == (64, 64)
        assert np.isfinite(values).all()
        assert np.ptp(values) > 0
