"""The torch modules of the benchmarks, as other packages get them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.inputs.modules import with_plain_relus


def _network() -> nn.Sequential:
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU6(inplace=True))
    return nn.Sequential(inner, nn.Conv2d(8, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 5))


def test_plain_relus_compute_the_same_scores_and_gradients() -> None:
    picture = 20 * torch.randn(2, 3, 8, 8)  # large enough for the limit of ReLU6
    found = []
    for network in (_network(), with_plain_relus(_network())):
        given = picture.clone().requires_grad_()
        scores = network(given)
        found.append((scores, torch.autograd.grad(scores[:, 1].sum(), given)[0]))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_captum_finds_every_plain_relu() -> None:
    """Guided Backprop of a network with ReLU6 is the plain gradient; of the changed one it is not."""
    attr = pytest.importorskip("captum.attr")
    picture = torch.randn(1, 3, 8, 8, requires_grad=True)
    network = with_plain_relus(_network())
    assert not any(isinstance(part, nn.ReLU6) for part in network.modules())
    with pytest.warns(UserWarning, match="hook"):
        guided = attr.GuidedBackprop(network).attribute(picture, target=1)
    assert not torch.allclose(guided, attr.Saliency(network).attribute(picture, target=1, abs=False))
